# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Joins the chapters of the guide for one HTML page: each chapter gets its file's name as identifier, links between
# chapters become links within the page, and the links to the examples are those of the installed files.
FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.md$/, "", name)
	print ""
	print $0 " {#" name "}"
	inside = 0
	next
}
/^```/ { inside = !inside }
!inside {
	while (match($0, /\]\([a-zA-Z-]+\.md\)/))
		$0 = substr($0, 1, RSTART - 1) "](#" substr($0, RSTART + 2, RLENGTH - 6) ")" \
			substr($0, RSTART + RLENGTH)
	gsub(/\]\(\.\.\/\.\.\/examples\//, "](../examples/")
}
/^<!-- code: / { next }
{ print }
