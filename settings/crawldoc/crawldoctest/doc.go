// Package crawldoctest makes crawl documents for tests of other packages.
package crawldoctest
