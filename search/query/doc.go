// Package query reads what people type into a search box. Every text has a reading; none is an error.
//
//	word              the word in any form: each must be there
//	"some words"      as they are written, next to each other in this order, in the title or the text
//	"word"            the word as it is written, in no other form
//	-word -"a b"      must not be there; a condition can be excluded too
//	begin*            a word that begins so
//	title:word        in the title; title:"some words"
//	host:h site:s     on this host; on the host or one below it
//	lang:de           in this language
//	filetype:pdf      the URL's path ends so
//	before:D after:D  fetched before D, or at D or later; D is a year, a month or a day (UTC)
//
// Whatever looks like one of these and is not, such as a date without sense, an unknown name before a
// colon or a quote that is never closed, counts as the words it has. Signs of other engines
// (brackets, ^2, ~, /x/) separate words. What exceeds the limits is left out (Query.Cut).
package query
