# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Puts a parameter table into a manual page: awk -v prefix=FI_VERBS_ -f params.awk TABLE.c PAGE.md
# The line @PARAMETERS@, or what -v marker= says, becomes a definition list of the table's rows.

function fail(text)
{
	print FILENAME ": " text >"/dev/stderr"
	failed = 1
	exit 1
}

# The next token of the table: a word or number, a string with its quotes, or one character.
function token(t)
{
	sub(/^[ \t]+/, "", source)
	if (match(source, /^"([^"\\]|\\.)*"/) || match(source, /^[A-Za-z0-9_-]+/) ||
	    match(source, /^./)) {
		t = substr(source, 1, RLENGTH)
		source = substr(source, RLENGTH + 1)
		return t
	}
	return ""
}

function unquote(t)
{
	t = substr(t, 2, length(t) - 2)
	gsub(/\\"/, "\"", t)
	return t
}

function number(t)
{
	return t == "INT_MAX" ? "2147483647" : t == "LONG_MAX" ? "9223372036854775807" : t
}

# Strings with nothing between them, up to the end of the row.
function text(t, all)
{
	while ((t = token()) != ")" && t != "}" && t != "")
		if (t ~ /^"/)
			all = all unquote(t)
		else if (t in reasons)
			all = all reasons[t]
		else if (t == "PROVDLDIR")
			all = all "$libdir/libfabric"
		else if (t != ",")
			fail("unexpected " t " in a text of the table")
	return all
}

function add(name, type, doc)
{
	gsub(/[\\`*_{}\[\]<>^~@$|#]/, "\\\\&", doc)
	list = list (list == "" ? "" : "\n") "**" prefix toupper(name) "**=*" type "*\n:   " doc "\n"
	rows++
}

function word()
{
	token()
	return token()
}

function row(t, name, def, min, max, type, doc)
{
	if (t == "INT") {
		name = word()
		def = number(word())
		min = number(word())
		max = number(word())
		add(name, "integer", text() " (" min " to " max ", default: " def ")")
	} else if (t == "SIZE") {
		name = word()
		def = number(word())
		add(name, "size", text() " (0 to " number("LONG_MAX") ", default: " def ")")
	} else if (t == "BOOL") {
		name = word()
		def = word()
		add(name, "boolean", text() " (default: " (def + 0 ? "yes" : "no") ")")
	} else if (t == "UNUSED") {
		name = word()
		type = "FI_PARAM_" word()
		def = word()
		doc = unquote(word()) "; no effect, " text()
		max = number(type == "FI_PARAM_INT" ? "INT_MAX" : "LONG_MAX")
		if (type == "FI_PARAM_BOOL")
			add(name, types[type], doc " (default: " (def + 0 ? "yes" : "no") ")")
		else
			add(name, types[type], doc " (0 to " max ", default: " def ")")
	} else if (t == "NO_EFFECT") {
		name = word()
		type = word()
		if (name ~ /^"/) { # the core's: a value, and a text that has the default
			token()
			if ((t = token()) != "NULL" && t !~ /^"/)
				fail("unexpected " t)
			add(unquote(name), types[type], text())
			return
		}
		def = word()
		doc = text()
		if (type == "STRING")
			add(name, "string", doc " (default: none)")
		else if (type == "BOOL")
			add(name, "boolean", doc " (default: " (def + 0 ? "yes" : "no") ")")
		else
			add(name, "integer", doc " (0 to 65535, default: " def ")")
	} else if (t == "STR" || t == "STRICT") {
		name = word()
		add(name, "string", text() " (default: none)")
	} else if (t == "STR_OR") {
		name = word()
		def = unquote(word())
		add(name, "string", text() " (default: " def ")")
	} else if (t == "{") {
		name = unquote(token())
		type = word()
		if (!(type in types))
			fail("unknown type " type)
		add(name, types[type], text())
	} else if (t != "," && t != ")" && t != ";") {
		fail("unknown row " t)
	}
}

function parse(t)
{
	while ((t = token()) != "")
		row(t)
	if (!rows)
		fail("no table of parameters found")
}

BEGIN {
	if (marker == "")
		marker = "@PARAMETERS@"
	types["FI_PARAM_STRING"] = "string"
	types["FI_PARAM_INT"] = "integer"
	types["FI_PARAM_BOOL"] = "boolean"
	types["FI_PARAM_SIZE_T"] = "size"
}

FILENAME ~ /\.c$/ {
	if (/param_table\[\] = {$/ || /core_params\[\] = {$/)
		table = 1
	else if (/^}/)
		table = 0
	else if (/^#define [A-Z_]+ +"/) # a reason that several rows share
		reasons[$2] = unquote(substr($0, index($0, "\"")))
	else if (table)
		source = source " " $0
	next
}

{
	if (!rows)
		parse()
	print $0 == marker ? list : $0
}

END { exit failed }
