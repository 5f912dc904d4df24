package maintext

import (
	"strings"
	"testing"

	"golang.org/x/net/html/atom"
)

// recorder writes down what it is told: text as it is, tags in brackets, an end of a line that has
// text as a bar.
type recorder struct {
	b    strings.Builder
	text bool
}

func (r *recorder) Start(e Element) {
	r.b.WriteString("<" + e.Tag.String())
	if e.Tag == atom.Table && e.Grid {
		r.b.WriteString(" grid")
	}
	if e.Tag == atom.Img {
		r.b.WriteString(" " + string(e.Src))
		if !e.Kept {
			r.b.WriteString(" out")
		}
	}
	r.b.WriteString(">")
}

func (r *recorder) End(tag atom.Atom) { r.b.WriteString("</" + tag.String() + ">") }

func (r *recorder) Text(b []byte) {
	r.text = r.text || len(strings.TrimSpace(string(b))) > 0
	r.b.Write(b)
}

func (r *recorder) Line() {
	if r.text {
		r.b.WriteString("|")
	}
	r.text = false
}

func TestWalk(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(lorem)
	for _, c := range []struct{ name, body, want string }{
		{"words and marks", "<p>a <b class=x>b</b> <code>c &lt;</code><br>d", "<p>a <b>b</b> <code>c <</code><br>d|"},
		{"white space stays", "<pre>a\n  b</pre>", "<pre>a\n  b|</pre>"},
		{"menus go", "<nav><a href=x>One</a></nav><p>" + long, "<nav><a></a></nav><p>" + long + "|"},
		{"scripts go", "<p>a<script>b</script><select><option>c</select>", "<p>a|"},
		{"hidden text goes", "<p>a<p hidden>b", "<p>a|<p>"},
		{"a permanent link", "<h1>a<a href=#a>¶</a></h1>", "<h1>a<a></a>|</h1>"},
		{"images beside the main part",
			"<img src=a><main><p>" + long + "<img src=b></main><aside><img src=c></aside>",
			"<img a out><main><p>" + long + "<img b>|</main><aside><img c out></aside>"},
		{"a list of links goes", "<p>" + long + "<ul><li><a href=1>One</a><li><a href=2>Two</a></ul>",
			"<p>" + long + "|<ul><li><a></a><li><a></a></ul>"},
		{"a list with one item of words stays whole", "<p>" + long +
			"<ul><li><a href=1>One</a><li><a href=2>Two</a> is a page about other things</ul>",
			"<p>" + long + "|<ul><li><a>One</a>|<li><a>Two</a> is a page about other things|</ul>"},
		{"a table stays whole",
			"<p>" + long + "<table><tr><td>a function of one argument<td><a href=x>f</a></table>",
			"<p>" + long + "|<table grid><tr><td>a function of one argument|<td><a>f</a>|</table>"},
		{"a table for the layout does not",
			"<table><tr><td><ul><li><a href=x>One</a></ul><td><h1>a</h1>" + long + "</table>",
			"<table><tr><td><ul><li><a></a></ul><td><h1>a|</h1>" + long + "|</table>"},
		{"a table in a table", "<table><tr><td><table><tr><td>a<td>b</table></table>",
			"<table><tr><td><table grid><tr><td>a|<td>b|</table></table>"},
		{"listings", "<xmp>a<b></xmp><plaintext>c</p>", "<pre>a<b></pre>|<pre>c</p></pre>|"},
	} {
		var r recorder
		if Walk([]byte(c.body), "text/html; charset=utf-8", &r) {
			t.Errorf("%s: truncated", c.name)
		}
		r.Line()
		if got := r.b.String(); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// TestWalkKeepsWhatExtractKeeps: each line of the text of a page is one of Walk's, in their order.
func TestWalkKeepsWhatExtractKeeps(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"<nav>x</nav><h1 class=a>b</h1><p>text <a href=x>y</a><ul><li>c<li><a " +
			"href=1>d</a></ul><footer>z</footer>",
		"<table><tr><td><a href=1>a</a><td>b</table>" + lorem +
			"<div class=menu>c</div><dl><dt>d<dd>e</dl><xmp>f</xmp>",
		strings.Repeat("<ul><li><a href=1>One</a> "+lorem+"</ul><div class=sidebar>x</div>", 50),
	} {
		var r recorder
		Walk([]byte(body), "text/html", &r)
		r.Line()
		rest := strings.Join(strings.Fields(strip(r.b.String())), " ")
		for line := range strings.SplitSeq(Extract([]byte(body), "text/html", "").Text, "\n") {
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Errorf("%.80s: %q is not in %q", body, line, rest)
			}
			rest = after
		}
	}
}

// strip takes the tags away.
func strip(s string) string {
	var b strings.Builder
	in := false
	for _, c := range s {
		switch {
		case c == '<':
			in = true
		case c == '>':
			in = false
		case !in:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func TestWalkSaysWhatIsCut(t *testing.T) {
	t.Parallel()
	var r recorder
	if !Walk([]byte(strings.Repeat("<p>x", 2*MaxBlocks)), "text/html", &r) {
		t.Error("a page of many blocks is said to be whole")
	}
	if n := strings.Count(r.b.String(), "x"); n > MaxBlocks+1 || n < MaxBlocks-1 {
		t.Errorf("%d blocks", n)
	}
}
