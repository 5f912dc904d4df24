package preferences

import (
	"net/http"
	"testing"

	"crawlnode/web/htmlparse"
	"crawlnode/web/robots"
)

// BenchmarkRead is what a page costs: one that says nothing, one of a site with content signals,
// and one that speaks at each level.
func BenchmarkRead(b *testing.B) {
	plain := robots.Parse([]byte("User-agent: *\nDisallow: /private/\n"), "crawlnode")
	signals := robots.Parse(
		[]byte("User-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /\n"), "crawlnode")
	usual := http.Header{"Content-Type": {"text/html"}, "Date": {"x"}, "Server": {"y"}}
	for name, s := range map[string]*Sources{
		"nothing": {Robots: plain, Header: usual, Metas: nil},
		"signals": {
			Robots: signals,
			Header: usual,
			Metas:  []htmlparse.Meta{{Name: "robots", Content: "index, follow, max-snippet:-1"}},
		},
		"all": {Robots: signals, Header: http.Header{
			"X-Robots-Tag":    {"noai, noimageai"},
			"Content-Usage":   {"train-ai=n"},
			"Tdm-Reservation": {"1"},
		},
			TDM:   ParseTDM([]byte(`[{"location":"/","tdm-reservation":1}]`)),
			Metas: []htmlparse.Meta{{Name: "robots", Content: "noarchive"}}},
	} {
		s.URL, s.Agent = pageURL, "crawlnode"
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if list := Read(s); len(list) > 0 {
					_ = Of(list, "crawlnode").Encode()
				}
			}
		})
	}
}
