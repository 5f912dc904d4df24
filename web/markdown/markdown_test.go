package markdown

import (
	"testing"

	"crawlnode/web/urlnorm"
)

func mustURL(tb testing.TB, s string) urlnorm.URL {
	tb.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, page, want string }{
		{"headings", "<h1>One</h1><h2>Two <em>x</em></h2><h6>Six</h6><p>text", "# One\n\n## Two *x*\n\n###### Six\n\ntext\n"},
		{"a heading without an end", "<h2>One<p>text</p>more", "## One text more\n"},
		{"text without paragraphs", "one<div>two</div>three", "one\n\ntwo\n\nthree\n"},
		{"emphasis", "a <b>b</b> <i>c</i><s>d</s> <strong>e <em>f</em></strong>", "a **b** *c*~~d~~ **e** ***f***\n"},
		{"spaces in marks", "a<b> b </b>c", "a **b** c\n"},
		{"marks over blocks", "<b><p>a</p><p>b</p></b>c", "**a**\n\n**b**\n\nc\n"},
		{"marks without an end", "<p><b>a</p><p>b", "**a**\n\nb\n"},
		{"marks within each other", "<b>a<b>b</b></b>", "**ab**\n"},
		{"code", "<p>call <code>f(<b>x</b>)</code> and <kbd>`</kbd>", "call `f(x)` and `` ` ``\n"},
		{"a link in code", "<code>f(<a href=/x>y</a>)</code>", "`f(`[`y`](https://a.example/x)`)`\n"},
		{
			"links",
			`<a href="x">one</a>, <a href="/y?a=b+c&amp;d=%2F">two</a> <a href="#p">three</a> <a href="https://b.example/(z)">four</a>`,
			"[one](https://a.example/dir/x), [two](https://a.example/y?a=b+c&d=%2F) " +
				"[three](https://a.example/dir/page#p) [four](<https://b.example/(z)>)\n",
		},
		{"links that are left out",
			`<a href="javascript:alert(1)">a</a> <a href="mailto:b@c.example">b</a> <a>c</a> <a href="data:text/html,x">d</a>`,
			"a b c d\n"},
		{"a link around blocks", `<a href=x><h2>One</h2><h3>two</h3></a>three`,
			"## [One](https://a.example/dir/x)\n\n### [two](https://a.example/dir/x)\n\nthree\n"},
		{"marks in a link", `<a href=x>one <b>two</b></a>`, "[one **two**](https://a.example/dir/x)\n"},
		{"brackets in a link", `<a href=x>[one]</a>`, "[\\[one\\]](https://a.example/dir/x)\n"},
		{"a permanent link", `<h2>One<a href=#one>¶</a></h2>`, "## One\n"},
		{
			"images",
			`<p>a <img src=b.png alt="c [d]"> <a href=x><img src="/e.png"></a><img src=data:,x><img src=f.png width=1><img data-src=g.png>`,
			"a ![c \\[d\\]](https://a.example/dir/b.png) " +
				"[![](https://a.example/e.png)](https://a.example/dir/x)![](https://a.example/dir/g.png)\n",
		},
		{"an image alone", `<figure><img src=b.png alt=b><figcaption>c</figcaption></figure>`, "![b](https://a.example/dir/b.png)\n\nc\n"},
		{"lists", "<ul><li>a<li>b<ol start=3><li>c</ol><li>d</ul>", "- a\n- b\n  \n  3. c\n- d\n"},
		{"paragraphs in a list", "<ul><li><p>a</p><p>b</p></li></ul>", "- a\n  \n  b\n"},
		{"a list in a list", "<ul><ul><li>a</ul></ul>", "- - a\n"},
		{"an item without a list", "<li>a<li>b", "a\n\nb\n"},
		{"text in a list", "<ul>a<li>b</ul>", "- a\n- b\n"},
		{"definitions", "<dl><dt>a <code>b</code><dd>c<dd>d</dl>", "**a** `b`\n\nc\n\nd\n"},
		{"a quotation", "<blockquote>a<p>b</blockquote>", "> a\n> \n> b\n"},
		{"code in a quotation",
			"<blockquote>a<pre>b\n\nc</pre><blockquote><ul><li><pre>d\n" +
				"e</pre></ul></blockquote></blockquote>",
			"> a\n> \n> ```\n> b\n> \n> c\n> ```\n> \n> > - ```\n> >   d\n> >   e\n> >   ```\n"},
		{"code with a language",
			"<pre><code class='x language-go'>\nif a &lt; b {\n\n\n\treturn\n}\n</code></pre>",
			"```go\nif a < b {\n\n\n\treturn\n}\n```\n"},
		{"code of Sphinx", "<div class='highlight-python3 notranslate'><div " +
			"class=highlight><pre><span></span><b>x</b> = 1</pre></div></div>", "```python3\nx = 1\n```\n"},
		{"a fence in code", "<pre>```\na</pre>", "````\n```\na\n````\n"},
		{"code by lines", "<pre><div>a</div><div>b</div>c<br>d</pre>", "```\na\nb\nc\nd\n```\n"},
		{"code in a list", "<ol><li>a<pre>b\n\nc</pre>d</ol>", "1. a\n   \n   ```\n   b\n   \n   c\n   ```\n   \n   d\n"},
		{"code without an end", "<p>a<pre>b", "a\n\n```\nb\n```\n"},
		{
			"a table",
			"<table><caption>t</caption><thead><tr><td>a<td>b</thead><tr><td>c|<td><code>x|y</code></table>",
			"t\n\n| a | b |\n|---|---|\n| c\\| | `x\\|y` |\n",
		},
		{"a table without headings", "<table><tr><th>a<td>b<tr><th>c<td></table>", "|  |  |\n|---|---|\n| a | b |\n| c |  |\n"},
		{"lines in a cell", "<table><tr><th>a<th>b<tr><td><p>c<p>d<td>e<br>f</table>", "| a | b |\n|---|---|\n| c<br />d | e<br />f |\n"},
		{"parts side by side", "<table><tr><td><h2>a</h2>b<td><ul><li>c</ul></table>", "## a\n\nb\n\n- c\n"},
		{"one column", "<table><tr><td>a<tr><td>b</table>", "a\n\nb\n"},
		{"breaks", "a<br>b<br><br>c", "a  \nb\n\nc\n"},
		{"a rule", "<hr>a<hr><hr>b", "a\n\n* * *\n\nb\n"},
		{"what would be markup", "<p># a</p><p>1. b</p><p>- c</p><p>*d* _e_ `f` [g](h) " +
			"&lt;script&gt;i&lt;/script&gt; &amp;amp; | ~~j~~</p>",
			"\\# a\n\n1\\. b\n\n\\- c\n\n\\*d* \\_e_ \\`f\\` \\[g](h) &lt;script&gt;i&lt;/script&gt; " +
				"&amp; | \\~\\~j\\~~\n"},
		{"what is not for readers", "<p>a<script>b()</script><style>c</style><template>d</template><noscript>e</noscript><p hidden>f", "a\n"},
		{"control characters", "<p>a\x00b\x1b[1mc\x07d\xffe\u0085f\uf002g", "ab\\[1mcd\uFFFDefg\n"},
		{"words of XMP", "<xmp><b>&amp;\n</xmp>", "```\n<b>&amp;\n```\n"},
		{"footnotes", `<p>a<sup><a href="#fn1">1</a></sup></p><ol><li id=fn1>b</ol>`, "a[1](https://a.example/dir/page#fn1)\n\n1. b\n"},
		{"a base", `<base href="//c.example/z/"><a href=x>a</a>`, "[a](https://c.example/z/x)\n"},
		{"nothing", "<p> ", ""},
	} {
		got, err := Of([]byte(c.page), "text/html; charset=utf-8",
			mustURL(t, "https://a.example/dir/page"))
		if err != nil || got != c.want {
			t.Errorf("%s:\n%q, want\n%q (%v)", c.name, got, c.want, err)
		}
	}
}
