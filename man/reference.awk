# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completes a page of section 3: awk -f reference.awk doc/interface.md PAGE.3.md
# A line that begins with @ENDPOINT_TYPES@ becomes a table of the functions in SYNOPSIS, and of the names
# after it, with what each endpoint type has of them. Both come from doc/interface.md.

function add(name)
{
	if (!(name in row))
		return
	list = list "| **" name "** | " row[name] " |\n"
	reasons += reason[name]
}

FILENAME ~ /interface\.md$/ {
	if (split($0, cell, / *\| */) < 6 || cell[2] !~ /^`f/ && cell[2] !~ /^`F/)
		next
	name = cell[2]
	gsub(/`/, "", name)
	if (!(name in row)) {
		gsub(/FI_EP_/, "\\FI_EP_", cell[6])
		gsub(/_/, "\\_", cell[6])
		gsub(/\\FI/, "FI", cell[6])
		row[name] = cell[3] " | " cell[4] " | " cell[5] " | " cell[6]
	}
	next
}

/^# / { synopsis = $2 == "SYNOPSIS" }

synopsis {
	line = $0
	while (match(line, /fi_[a-z0-9_]+\(/)) {
		names[++count] = substr(line, RSTART, RLENGTH - 1)
		line = substr(line, RSTART + RLENGTH)
	}
}

/^@ENDPOINT_TYPES@/ {
	for (i = 2; i <= NF; i++)
		names[++count] = $i
	for (i = 1; i <= count; i++)
		add(names[i])
	if (list == "") {
		print FILENAME ": no row of doc/interface.md for " $0 >"/dev/stderr"
		failed = 1
		exit 1
	}
	print "| | MSG | RDM | DGRAM | reason |"
	print "|:------------------------|:-----|:-----|:------|:-----------------------------------------|"
	print list
	next
}

{ print }

END { exit failed }
