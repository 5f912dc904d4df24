package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// TestExportsKnowTheRobotsName: what pages ask of a robot by name is read in exports for the name
// that the crawl had, not for that of the program.
func TestExportsKnowTheRobotsName(t *testing.T) {
	t.Parallel()
	pages := map[string]struct {
		header, head string
		with         map[string]bool // by the name of the crawl: it is in exports
	}{
		"/all":    {"", "", map[string]bool{"": true, "FieldBot": true}},
		"/header": {"fieldbot: noindex", "", map[string]bool{"": true, "FieldBot": false}},
		"/header/both": {"fieldbot: nofollow, crawlnode: noindex", "",
			map[string]bool{"": false, "FieldBot": true}},
		"/meta": {"", "<meta name=fieldbot content=noindex>",
			map[string]bool{"": true, "FieldBot": false}},
		"/meta/other": {"", "<meta name=crawlnode content=noindex>",
			map[string]bool{"": false, "FieldBot": true}},
		"/robots": {"noindex", "", map[string]bool{"": false, "FieldBot": false}},
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		p, ok := pages[r.URL.Path]
		switch {
		case ok:
			if p.header != "" {
				w.Header().Set("X-Robots-Tag", p.header)
			}
			_, _ = fmt.Fprintf(w, "%s<title>t</title><p>the text of %s", p.head, r.URL.Path)
		case r.URL.Path == "/":
			for path := range pages {
				_, _ = fmt.Fprintf(w, "<a href=%q>x</a>", path)
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	for _, agent := range []string{"", "FieldBot"} {
		data := t.TempDir()
		args := []string{web.URL + "/"}
		if agent != "" {
			args = append(args, "--robots-agent", agent)
		}
		crawlInto(t, data, args...)
		r := run(t, "", "export", "jsonl", "--data-dir", data)
		r.want(t, command.ExitOK, "", "")
		for path, p := range pages {
			if got := strings.Contains(r.out, web.URL+path+`"`); got != p.with[agent] {
				t.Errorf("name %q: %s is exported: %v", agent, path, got)
			}
		}
	}
}
