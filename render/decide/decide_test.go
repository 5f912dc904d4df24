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
		{
			"noscript",
			`<noscript><b>You need to enable</b> <i>or</i> please enable JavaScript to run this.</noscript><script>`,
			"",
			"http://a/",
			true,
			"noscript",
		},
		{"docsify", `<div id=x>Loading</div><script>window.$docsify={}</script>`, "Loading", "http://a/", true, "docsify"},
		{"AngularJS", `<html lang="en" ng-app=shop><p>Loading<script>`, "Loading", "http://a/", true, "AngularJS"},
		{"an attribute without a value", "<body\n ng-app><script>", "", "http://a/", true, "AngularJS"},
		{"Angular", `<app-root ng-version="17.1"></app-root><script>`, "", "http://a/", true, "Angular"},
		{"a word with a mark in it", `<a href=#embedding-applications>x</a><script>`, "x", "http://a/", true, "1 bytes of text"},
		{"a text about a mark", `<code>&lt;html ng-app&gt;</code> ng-app= <script>`, "x", "http://a/", true, "1 bytes of text"},
		{"hash-bang", long + `<script>`, long, "http://a/#!/b", true, "hash-bang"},
		{"little text", `<p>Loading<script>`, "Loading", "http://a/", true, "7 bytes of text"},
	} {
		v := Auto(Look([]byte(c.html), len(c.text), c.url))
		if v.Render != c.render || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%s: %+v, want %v because of %q", c.name, v, c.render, c.reason)
		}
	}
}

func TestHasAttribute(t *testing.T) {
	for page, want := range map[string]bool{
		`<a ng-app>`: true, `<a x="1" ng-app="b">`: true, `<br ng-app/>`: true, "<a\nng-app\n>": true,
		`ng-app`: false, `<a>ng-app </a>`: false, `< ng-app >`: false, `<a xng-app>`: false,
		`<a ng-apple>`: false, `<a ng-app`: false, `<a data-ng-app>`: false,
		`if (a <b ng-app`: false, `<a ng-apps><b ng-app>`: true,
		`<a ` + strings.Repeat("x ", longTag) + `ng-app>`: false,
	} {
		if got := hasAttribute([]byte(page), "ng-app"); got != want {
			t.Errorf("%.40s: %v, want %v", page, got, want)
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
