// Package preferences reads what the owners of pages say about their use, and merges it into one
// answer for each purpose of a crawl: search, archive, ai-input and ai-train.
//
// Owners speak by several protocols, at several levels:
//
//	protocol          levels                     source
//	Content-Usage     robots.txt, header         draft-ietf-aipref-attach-05, -vocab-08
//	Content-Signal    robots.txt, header         contentsignals.org
//	robots directives header, meta               what Google and Bing document; noai: a convention
//	TDMRep            tdmrep.json, header, meta  TDM Reservation Protocol (W3C community group)
//
// Within a protocol its own rules decide. Of robots directives the most restrictive counts. TDMRep
// reads the page before the header, and that before the file; a reservation of 0 takes back what a
// level behind it says, and is a yes to nothing. Of Content-Usage lines those with the longest
// matching path count (package robots). Between protocols, and between the levels of Content-Usage
// and Content-Signal, a no wins; a yes counts where nobody says no; else the answer is unknown.
//
//	noindex, none               search no
//	unavailable_after           search no from that time on
//	noarchive                   archive no
//	noai                        ai-input no, ai-train no
//	search, train-ai            of Content-Usage: search, ai-train, by y or n
//	search, ai-input, ai-train  of Content-Signal: by yes or no
//	tdm-reservation 1           ai-train no
//
// Words that nobody here knows say nothing, and their statements are kept as they were written. A
// statement that says what holds without it, such as "index, follow", is not kept.
//
// [Read] collects the statements that apply to a page, [Merge] makes the answers, and a [Record] is
// both, as it is stored with a visit: what an owner wanted at the time of a capture stays with the
// capture. The package is pure. Hostile input costs bounded memory: a record has at most
// MaxStatements statements and MaxBytes bytes, and a statement of more than 256 bytes is replaced
// by what it says of purposes.
package preferences
