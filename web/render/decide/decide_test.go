package decide

import (
	"strings"
	"testing"
)

func TestAuto(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, c := range []struct {
		name, html, text, url string
		render                bool
		reason                string
	}{
		{"static", "<p>" + long, long, "http://a/", false, "no script"},
		{"little text without scripts", "<p>x", "x", "http://a/", false, "no script"},
		{"static with scripts", "<p>" + long + "<script src=a></script>", long, "http://a/", false, "500 bytes"},
		{"react", `<div id="root"></div><script src=a></script>`, "", "http://a/", true, "#root"},
		{"vue with a comment", `<div class=x id=app><!-- built files --></div><script>`, "", "http://a/", true, "#app"},
		{"filled by the server", `<div id="root"></div>` + long + `<script src=a></script>`, long, "http://a/", false, "500 bytes"},
		{"noscript", `<noscript><b>You need to enable</b> <i>or</i> please enable JavaScript to run this.</noscript><script>`, "", "http://a/", true, "noscript"},
		{"docsify", `<div id=x>Loading</div><script>window.$docsify={}</script>`, "Loading", "http://a/", true, "docsify"},
		{"hash-bang", long + `<script>`, long, "http://a/#!/b", true, "hash-bang"},
		{"little text", `<p>Loading<script>`, "Loading", "http://a/", true, "7 bytes of text"},
	} {
		v := Auto(Look([]byte(c.html), len(c.text), c.url))
		if v.Render != c.render || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%s: %+v, want %v because of %q", c.name, v, c.render, c.reason)
		}
	}
}

func FuzzLook(f *testing.F) {
	f.Add([]byte(`<div id=app></div><noscript>enable JavaScript</noscript>`), "http://a/#!")
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		if v := Auto(Look(body, len(body), url)); v.Reason == "" {
			t.Error("a verdict without a reason")
		}
	})
}
