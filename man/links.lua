-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
-- A filter for pandoc: **fi_cq_read**(3) becomes a link to its page, if the file of the variable
-- MANUAL_NAMES (see names.awk) has it.

local pages = {}

for line in io.lines(os.getenv("MANUAL_NAMES")) do
	local name, page = line:match("^(%S+) (%S+)$")
	pages[name .. page:match("%.(%d)$")] = page
end

local function page_of(strong, after)
	if strong.t ~= "Strong" or not after or after.t ~= "Str" then
		return nil
	end
	local section = after.text:match("^%((%d)%)")
	return section and pages[pandoc.utils.stringify(strong) .. section], section
end

function Inlines(inlines)
	local result, i = pandoc.List(), 1

	while i <= #inlines do
		local page, section = page_of(inlines[i], inlines[i + 1])
		if page then
			local rest = inlines[i + 1].text:sub(4)
			result:insert(pandoc.Link({ inlines[i], pandoc.Str("(" .. section .. ")") }, "page:" .. page))
			if rest ~= "" then
				result:insert(pandoc.Str(rest))
			end
			i = i + 2
		else
			result:insert(inlines[i])
			i = i + 1
		end
	end
	return result
end
