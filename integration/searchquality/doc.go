// Package searchquality measures how well the index finds known pages of real sites, and how it does under load:
//
//	go test ./integration/searchquality -v -search.pages DIR
//	go test ./integration/searchquality -v -run TestLoad -search.synthetic 1000000 -search.hostile 5000
//	go test ./integration/searchquality -v -run TestMillion -search.million 1000000 -search.million.in DIR
//
// DIR has one folder for each site, as of Debian packages of documentation, unpacked with dpkg -x. The questions are
// made from the pages: titles, titles with a typing error, and triples of words that stand near each other. Where several pages
// hold the passage that a triple is of, word for word, each of them is a right answer: Score has both figures, for the page itself and
// for the passage. Known items by triples are those of which one page is the answer: no other one has the words as near each other
// (decision 0231).
//
// The module in engines measures other engines in the same way.
package searchquality
