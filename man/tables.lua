-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
-- A filter for pandoc: tables of manual pages leave room for what separates their columns, so that they fit
-- a terminal of 80 columns.

function Table(tbl)
	local scale = (70 - 3 * #tbl.colspecs) / 70

	for i, spec in ipairs(tbl.colspecs) do
		if spec[2] then
			tbl.colspecs[i] = { spec[1], spec[2] * scale }
		end
	end
	return tbl
end
