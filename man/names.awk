# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Prints a line "NAME PAGE" for each name that leads to a page: awk -f names.awk PAGE.N.md...
# The names are those of the pages, and of the functions in the SYNOPSIS of pages of section 3.

FNR == 1 {
	page = FILENAME
	sub(/.*\//, "", page)
	sub(/\.md$/, "", page)
	name = page
	sub(/\.[0-9]$/, "", name)
	reference = page ~ /\.3$/
	print name, page
}

/^# / { synopsis = $2 == "SYNOPSIS" }

reference && synopsis {
	line = $0
	while (match(line, /fi_[a-z0-9_]+\(/)) {
		found = substr(line, RSTART, RLENGTH - 1)
		if (found != name)
			print found, page
		line = substr(line, RSTART + RLENGTH)
	}
}
