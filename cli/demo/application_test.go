package demo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestApplication: the server of the application sees pages that are missing, fetched twice or too
// early, and gives links in its script alone.
func TestApplication(t *testing.T) {
	t.Parallel()
	const delay = 50 * time.Millisecond
	all := []string{"/robots.txt", "/", "/app.js", "/1", "/2", "/3", "/sitemap.xml"}
	for name, tc := range map[string]struct {
		asked    []string
		gap      time.Duration
		complete bool
		pages    int
		wrong    string
	}{
		"all":       {all, delay, true, 4, ""},
		"too early": {all, delay - 1, true, 4, "below the promised"},
		"twice": {append([]string{"/2"}, all...), delay, true, 4,
			"/2 of the application was fetched 2 times"},
		"missing":        {all[:4], delay, true, 2, "2 pages of the application"},
		"not in time":    {all[:4], delay, false, 2, ""},
		"nothing at all": {nil, delay, false, 0, ""},
	} {
		a, now := newApplication(), time.Now()
		for _, path := range tc.asked {
			a.note(path, now)
			a.answered(now)
			now = now.Add(tc.gap)
		}
		pages, wrong := a.judge(delay, tc.complete)
		if pages != tc.pages || (wrong == nil) != (tc.wrong == "") ||
			wrong != nil && !strings.Contains(wrong.Error(), tc.wrong) {
			t.Errorf("%s: %d pages, %v", name, pages, wrong)
		}
	}
	a := newApplication()
	for path, want := range map[string]string{
		"/":           shell,
		"/3":          shell,
		"/app.js":     script,
		"/4":          "404",
		"/robots.txt": "404",
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if !strings.Contains(w.Body.String(), want) || strings.Contains(shell, "href") {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}
