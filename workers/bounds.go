package workers

import (
	"unicode/utf8"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

// pageLinkBytes bounds the links of one page, as they are written between nodes: a message of
// theirs has 8 MiB at most, and one with a result must not be larger, or it would never arrive.
const pageLinkBytes = 3 << 20

// maxField bounds each of the other texts of a result.
const maxField = 500

// lighten cuts what a worker says to what counts. A link that is left out becomes "", so that it is
// still counted: it is longer than a URL may be, or the page has more links than are taken.
func lighten(r *crawl.WorkerResult) {
	for _, field := range []*string{&r.Status, &r.ContentType, &r.ContentHash, (*string)(&r.Simhash),
		&r.Error} {
		*field = (*field)[:min(len(*field), maxField)]
	}
	left := pageLinkBytes
	for i, l := range r.Links {
		n := written(l)
		if i >= pipeline.MaxReportedLinks || len(l) > urlnorm.MaxLen || n > left {
			r.Links[i] = ""
			continue
		}
		left -= n
	}
}

// written is how long a text is in JSON, at most.
func written(s string) int {
	n := len(`"",`)
	for _, r := range s {
		switch {
		case r < ' ', r == utf8.RuneError, r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029',
			r == 0x7f:
			n += len(`\u0000`)
		case r == '"', r == '\\':
			n += 2
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}
