package integration

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// heavyAddr serves the hosts of domains that begin with "heavy".
const heavyAddr = "127.77.0.2"

// heavyPage is a page of 8 MiB that its parser takes long for, compressed to some KiB.
func heavyPage(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for i := range 3 {
		_, _ = fmt.Fprintf(z, "<a href=x%d/>", i) // a buffer takes all
	}
	_, _ = z.Write([]byte(strings.Repeat("<b><i><p>", 8<<20/9)))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSharesHeavyPages: a page links to the hosts of one domain, or of ten, whose pages take the
// parser a hundred times as long as others.
func TestSharesHeavyPages(t *testing.T) {
	longBesieged(t)
	for _, domains := range []int{1, 10} {
		t.Run(fmt.Sprint(domains), func(t *testing.T) {
			s := newSiege(t)
			page := heavyPage(t)
			s.listen(heavyAddr, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.NotFound(rw, r)
					return
				}
				rw.Header().Set("Content-Type", "text/html")
				rw.Header().Set("Content-Encoding", "gzip")
				_, _ = rw.Write(page) // the crawler may have gone
			}))
			var names []string
			for i := range domains {
				names = append(names, fmt.Sprint("heavy", i))
			}
			before, during := s.besiege(s.hub("hub", 1000, names...), "", 0)
			s.judge("F38 F39", fmt.Sprintf(
				"1,000 hosts of %d domains with pages that take a hundred times as long to parse",
				domains), before, during, 0.6)
		})
	}
}
