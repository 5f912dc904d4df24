// Package searchquality measures how well the index finds known pages of real sites, and how it
// behaves under load:
//
//	go test ./integration/searchquality -v -search.pages DIR
//	go test ./integration/searchquality -v -run TestLoad \
//		-search.synthetic 1000000 -search.hostile 5000
//	go test ./integration/searchquality -v -run TestMillion \
//		-search.million 1000000 -search.million.in DIR
//
// DIR has one folder for each site, as in Debian packages of documentation, unpacked with dpkg -x.
// The queries are made from the pages: titles, titles with a typing error, and triples of words
// that stand near each other. Where several pages contain the passage of a triple word for word,
// each of them is a right answer: Score has both figures, for the page itself and for the passage.
// Known-item queries by triples are those for which only one page is the answer: no other page has
// the words as near to each other (decision 0231).
//
// The module in engines measures other engines in the same way.
package searchquality
