// Package query parses the text of a search. Every text can be parsed; none is an error.
//
//	word              the word in any form; a result has all words
//	"some words"      these words as written, adjacent and in this order, in the title or the text
//	"word"            the word as written, in no other form
//	-word -"a b"      excludes results with the word; conditions can be excluded too
//	begin*            a word that begins like this
//	title:word        in the title; title:"some words"
//	host:h site:s     on this host; on the host or one below it
//	lang:de           in this language
//	filetype:pdf      the URL's path ends like this
//	before:D after:D  fetched before D, or at D or later; D is a year, a month or a day (UTC)
//
// Text that looks like one of these but is not, such as an invalid date, an unknown name before a
// colon or an unclosed quote, is read as plain words. Operators of other engines
// (brackets, ^2, ~, /x/) separate words. What exceeds the limits is left out (Query.Cut).
package query
