package tika

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// answerOfTika is an answer as Tika's server writes it: XHTML, indented, with its metadata.
const answerOfTika = `<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<META http-equiv="Content-Type" content="text/html; charset=UTF-8">
<meta name="dc:creator" content="Ada Lovelace">
<meta name="dc:creator" content="Charles Babbage">
<meta name="meta:author" content="Ada Lovelace">
<meta name="xmpTPg:NPages" content="2">
<meta name="X-TIKA:Parsed-By" content="org.apache.tika.parser.DefaultParser">
<meta name="dcterms:created" content="2024-01-31T12:00:00Z">
<meta name="meta:creation-date" content="2023-01-31T12:00:00Z">
<meta name="dcterms:modified" content="2024-02-01T12:00:00">
<meta name="dc:title" content="Notes">
<meta name="dc:subject" content="engines">
<meta name="meta:keyword" content="engines">
<meta name="dc:description" content="On &quot;engines&quot;">
<meta name="xmp:CreatorTool" content="Writer">
<meta name="dc:language" content="fr">
<meta name="extended-properties:Company" content="Analytical">
<title>Notes on
 engines</title>
</head>
<body><div class="page"><h1 class="t">Notes</h1>
<p>First   paragraph,
 <b>with</b> a <a href="https://example.org/?a=1&amp;b=2">link</a>.</p>
<p/>
<ul>	<li>one</li>
	<li>two
<ul><li>deeper</li></ul></li>
</ul>
<table><tbody><tr>	<td>a</td>	<td><p>b</p></td></tr>
<tr>	<td>c</td></tr></tbody></table>
<pre>  kept
   as it is</pre>
</div>
<div class="page">loose text<br/>of a page<img src="embedded:image1.png" alt="image1.png"/></div>
<div class="package-entry"><h1>picture.png</h1></div>
</body></html>`

const rewritten = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Notes</title>
<meta name="author" content="Ada Lovelace">
<meta name="author" content="Charles Babbage">
<meta name="dcterms.created" content="2024-01-31T12:00:00Z">
<meta name="dcterms.modified" content="2024-02-01T12:00:00Z">
<meta name="keywords" content="engines">
<meta name="description" content="On &#34;engines&#34;">
<meta name="generator" content="Writer">
<meta name="dcterms.publisher" content="Analytical">
</head>
<body>
<h1>Notes</h1>
<p>First paragraph, with a <a href="https://example.org/?a=1&amp;b=2">link</a>.</p>
<ul><li>one</li>
<li>two<ul><li>deeper</li>
</ul>
</li>
</ul>
<table><tr><td>a</td>
<td><p>b</p>
</td>
</tr>
<tr><td>c</td>
</tr>
</table>
<pre>  kept
   as it is</pre>
<p>loose text<br>of a page</p>
<h1>picture.png</h1>
</body>
</html>
`

func TestRewrite(t *testing.T) {
	t.Parallel()
	got, truncated, hasText := rewrite([]byte(answerOfTika), 1<<20)
	if string(got) != rewritten || truncated || !hasText {
		t.Errorf("truncated %v, text %v:\n%s", truncated, hasText, got)
	}
}

func bodyOf(page []byte) string {
	_, body, _ := strings.Cut(string(page), "<body>\n")
	body, _, _ = strings.Cut(body, "</body>")
	return strings.ReplaceAll(body, "\n", "")
}

// TestHostileAnswers: what is no text, structure or link is left out, and what is wrongly nested is
// put right.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, answer, want string }{
		{"empty", "", ""},
		{"no page", "plain text", "<p>plain text</p>"},
		{"script", `<p>a<script>alert("<p>x</p>")</script>b</p>`, "<p>ab</p>"},
		{"script that is not closed", `<p>a<script>alert(1)`, "<p>a</p>"},
		{"script in a picture",
			`<p>a<svg><svg><script>x</script></svg><a href="/b">x</a></svg>c`, "<p>ac</p>"},
		{"event handler", `<p onclick="x()" style="y">a <img src=x onerror=y></p>`, "<p>a</p>"},
		{"frame", `<iframe src="//x"><p>a</p></iframe><p>b`, "<p>b</p>"},
		{"programs as links",
			`<p><a href="javascript:x">a</a> <a href=" jav&#10;ascript:x">b</a> <a href="data:text/html,x">c</a> <a href="#d">d</a></p>`,
			"<p>a b c d</p>"},
		{"address that breaks out", `<a href='"><script>x</script>'>a</a>`,
			`<p><a href="&#34;&gt;&lt;script&gt;x&lt;/script&gt;">a</a></p>`},
		{"text that breaks out", `<p>&lt;script&gt;x&lt;/script&gt;</p>`,
			"<p>&lt;script&gt;x&lt;/script&gt;</p>"},
		{"link in a link", `<a href="/a">a<a href="/b">b</a></a>`,
			`<p><a href="/a">a</a><a href="/b">b</a></p>`},
		{"paragraph in a paragraph", `<p>a<p>b<h2>c<p>d</h2>e`,
			"<p>a</p><p>b</p><h2>c</h2><p>de</p>"},
		{"ends without starts", `</p></td></table></li>a</a></ul>`, "<p>a</p>"},
		{"item without a list", `<li>a<li>b`, "<p>a</p><p>b</p>"},
		{"text in a list", `<ul>a<li>b</ul>`, "<ul><li>a</li><li>b</li></ul>"},
		{"cell without a table", `<td>a</td><td>b</td>`, "<p>a</p><p>b</p>"},
		{"cell without a row", `<table><td>a<th>b</table>`,
			"<table><tr><td>a</td><th>b</th></tr></table>"},
		{"text in a table", `<table>a<tr>b</table>`,
			"<table><tr><td>a</td></tr><tr><td>b</td></tr></table>"},
		{"a cell cannot close what is around it",
			`<table><tr><td>a</p></ul></blockquote>b</table>c`,
			"<table><tr><td>ab</td></tr></table><p>c</p>"},
		{"table in a cell", `<table><tr><td>a<table><tr><td>b</td></tr></table></td><td>c</table>`,
			"<table><tr><td>a<table><tr><td>b</td></tr></table></td><td>c</td></tr></table>"},
		{"no characters", "<p>a\x00b\x1bc\xff</p>", "<p>abc\uFFFD</p>"},
		{"form",
			`<form action=x><input value=a><button>b</button><textarea>c</textarea></form>`,
			"<p>b</p>"},
		{"head in the body",
			`<body><p>a</p><title>b</title><meta name=author content=c></body>`, "<p>a</p>"},
	} {
		got, truncated, _ := rewrite([]byte(c.answer), 1<<20)
		if b := bodyOf(got); b != c.want || truncated {
			t.Errorf("%s: %s\nwant %s, truncated %v", c.name, b, c.want, truncated)
		}
	}
}

func TestDepthAndLimit(t *testing.T) {
	t.Parallel()
	deep, truncated, hasText := rewrite([]byte(strings.Repeat("<ul><li>", 1e5)+"x"), 1<<20)
	if n := strings.Count(string(deep), "<ul>"); n != maxDepth/2 || !hasText || truncated {
		t.Errorf("%d lists, text %v, truncated %v", n, hasText, truncated)
	}
	long, truncated, _ := rewrite([]byte("<p>"+strings.Repeat("word ", 1e5)), 1000)
	if n := len(bodyOf(long)); n > 1000 || n < 900 || !truncated {
		t.Errorf("%d bytes, truncated %v", n, truncated)
	}
	many, _, _ := rewrite([]byte(strings.Repeat(`<meta name="author" content="a">`, 1e5)), 1000)
	if n := strings.Count(string(many), "author"); n != 1 {
		t.Errorf("%d authors", n)
	}
}

// FuzzRewrite: the page is well-formed, within its limit, and has nothing but what it may have.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(answerOfTika), 1000)
	f.Add([]byte("<table><a href=x><ul></table><td><p>x"), 100)
	allowed := map[string]bool{}
	for n := range strings.FieldsSeq("p h1 h2 h3 h4 h5 h6 pre blockquote ul ol li table tr td " +
		"th a br") {
		allowed[n] = true
	}
	f.Fuzz(func(t *testing.T, answer []byte, limit int) {
		limit = min(max(limit, 0), 1<<16)
		out, _, _ := rewrite(answer, limit)
		_, body, _ := strings.Cut(string(out), "<body>\n")
		body, ok := strings.CutSuffix(body, "</body>\n</html>\n")
		if !ok || len(body) > limit {
			t.Fatalf("%d bytes of %d:\n%s", len(body), limit, out)
		}
		var open []string
		for z := html.NewTokenizer(strings.NewReader(body)); ; {
			kind := z.Next()
			token := z.Token()
			switch kind {
			case html.ErrorToken:
				if len(open) > 0 {
					t.Fatalf("%v are open:\n%s", open, body)
				}
				return
			case html.StartTagToken:
				if !allowed[token.Data] {
					t.Fatalf("it has %s:\n%s", token.Data, body)
				}
				for _, a := range token.Attr {
					if token.Data != "a" || a.Key != "href" || usable(a.Val) == "" {
						t.Fatalf("it has %v", token)
					}
				}
				if token.Data != "br" {
					open = append(open, token.Data)
				}
			case html.EndTagToken:
				if len(open) == 0 || open[len(open)-1] != token.Data {
					t.Fatalf("%s is closed, %v are open:\n%s", token.Data, open, body)
				}
				open = open[:len(open)-1]
			case html.TextToken:
			default:
				t.Fatalf("it has %v", token)
			}
		}
	})
}
