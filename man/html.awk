# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Joins the pages to one HTML manual: awk -v version=V -f html.awk NAMES HEAD.html PAGE.N.html...
# NAMES is from names.awk; HEAD.html has the style, the script and the search box.

function page_of(file)
{
	sub(/.*\//, "", file)
	sub(/\.html$/, "", file)
	return file
}

function titled(page,  name)
{
	name = page
	sub(/\.[0-9]$/, "", name)
	return name "(" substr(page, length(page)) ")"
}

function contents(title, section,  i)
{
	print "<h2>" title "</h2>\n<ul>"
	for (i = 3; i < ARGC; i++)
		if (page_of(ARGV[i]) ~ section "$")
			print "<li><a href=\"#" page_of(ARGV[i]) "\">" titled(page_of(ARGV[i])) "</a></li>"
	print "</ul>"
}

FILENAME == ARGV[1] {
	names[$2] = names[$2] " " $1
	next
}

FILENAME == ARGV[2] {
	gsub(/@VERSION@/, version)
	if ($0 != "@CONTENTS@") {
		print
		next
	}
	contents("Overviews", 7)
	contents("Calls", 3)
	contents("Commands", 1)
	next
}

FNR == 1 {
	page = page_of(FILENAME)
	if (pages++)
		print "</section>"
	print "<section class=\"page\" id=\"" page "\" data-names=\"" substr(names[page], 2) "\">"
	print "<h1 class=\"title\">" titled(page) "</h1>"
}

# Pandoc would take a link that begins with # for one to the same page.
{
	gsub(/href="page:/, "href=\"#")
	print
}

END { print "</section>\n</main>\n</body>\n</html>" }
