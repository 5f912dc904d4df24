// Package engines measures the project's search engine beside two others, on the same pages and
// questions: bleve and SQLite's FTS5. It is a module of its own, so that the project does not
// depend on those.
//
//	go test ./integration/searchquality -run TestQuality -search.pages DIR -search.prepare PREPARED
//	cd integration/searchquality/engines
//	go test . -count=1 -v -timeout 60m -prepared PREPARED -run 'TestEngine/NAME$'    # each in a process of its own
//
// `make engines PAGES=DIR` does all of it. NAME is ours, fts5, fts5tuned, bleve or blevetuned: the
// libraries with their defaults, and as somebody who knows them would set them up.
package engines
