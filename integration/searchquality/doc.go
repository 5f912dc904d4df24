// Package searchquality measures how well the index finds known pages of real sites. It has tests only:
//
//	go test ./integration/searchquality -v -search.pages DIR
//
// DIR has one folder for each site, as of Debian packages of documentation, unpacked with dpkg -x.
package searchquality
