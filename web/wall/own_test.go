package wall

import (
	"net/http"
	"strings"
	"testing"
)

// ownMarks is a file as a user writes it.
const ownMarks = `# the proxy of our network
wall other
header X-Guard: blocked
hint   Server: guard
title  1 One   Moment at the gate
code   2 /guard/challenge.js

wall cloudflare
code 3 /cdn-cgi/new-challenge/
`

// TestOwnMarks: a user's rows are judged as those of the package, which stay.
func TestOwnMarks(t *testing.T) {
	t.Parallel()
	marks, err := ParseMarks([]byte(ownMarks))
	if err != nil {
		t.Fatal(err)
	}
	windows, err := ParseMarks([]byte(strings.ReplaceAll(ownMarks, "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		want   Product
		status int
		header string
		body   string
	}{
		{"its header", Other, 403, "X-Guard: blocked by rule 1", ""},
		{"another value", None, 403, "X-Guard: passed", ""},
		{"title and body", Other, 200, "", page("One moment at the gate",
			`<script src="/guard/challenge.js"></script>`)},
		{"hint and body", Other, 200, "Server: guard/2", page("",
			`<script src="/guard/challenge.js"></script>`)},
		{"status and body", Other, 403, "", page("",
			`<script src="/guard/challenge.js"></script>`)},
		{"body alone", None, 200, "", page("", `<script src="/guard/challenge.js"></script>`)},
		{"title and status alone", None, 403, "", page("One moment at the gate", "")},
		{"a mark of a product", Cloudflare, 200, "", page("",
			`<script src="/cdn-cgi/new-challenge/x.js"></script>`)},
		{"a question about it", None, 200, "", page("", "<p>What is /cdn-cgi/new-challenge/ ?")},
		{"an article about it", None, 200, "", page("", words(500)+"/cdn-cgi/new-challenge/")},
	} {
		a := answerOf(tc.status, tc.header, tc.body)
		if got := marks.Of(a); got != tc.want || windows.Of(a) != got {
			t.Errorf("%s: %q, with line ends of Windows %q, want %q", tc.name, got, windows.Of(a), tc.want)
		}
	}
	for _, tc := range walls {
		if got := marks.Of(answerOf(tc.status, tc.header, tc.body)); got != tc.want {
			t.Errorf("%s: %q with more marks, want %q", tc.name, got, tc.want)
		}
	}
	if got := Of(answerOf(403, "X-Guard: blocked", "")); got != None {
		t.Errorf("without the file: %q", got)
	}
}

// TestParseMarks: what is wrong with a file is said with its line.
func TestParseMarks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", "no wall"},
		{"comments alone", "# wall other\n", "no wall"},
		{"a mark before the first wall", "\n# x\ncode 3 challenge.js\n",
			"line 3: \"code\" comes before"},
		{"an unknown product", "wall nobody\ncode 3 challenge.js",
			"line 1: wall \"nobody\": give other, or one of cloudflare, "},
		{"no product", "wall\n", "line 1: wall \"\""},
		{"an unknown word", "wall other\ncode 3 challenge.js\nscript 2 x.js",
			"line 3: \"script\" is no mark"},
		{"a header without a colon", "wall other\nheader X-Guard\n",
			"line 2: header: \"X-Guard\" is no header field"},
		{"a header without a value", "wall other\nheader X-Guard:\n",
			"line 2: header: \"X-Guard:\" has no value"},
		{"a name with a blank", "wall other\nhint X Guard: a\n", "line 2: hint: "},
		{"a long header", "wall other\nheader X: " + strings.Repeat("a", 300),
			"line 2: header: it is longer"},
		{"no weight", "wall other\ncode challenge.js\n",
			"line 2: code: \"challenge.js\" is no weight"},
		{"weight 0", "wall other\ncode 0 challenge.js\n", "line 2: code: \"0\" is no weight"},
		{"weight 4", "wall other\ntitle 4 challenge\n", "line 2: title: \"4\" is no weight"},
		{"no text", "wall other\ncode 3\n", "line 2: code: \"\" is too short"},
		{"a short text", "wall other\ncode 3 abc\n", "line 2: code: \"abc\" is too short"},
		{"a long text", "wall other\ncode 3 " + strings.Repeat("a", 300),
			"line 2: code: the text is longer"},
		{"not UTF-8", "wall other\ncode 3 challenge\xff\n", "line 2: it is not UTF-8"},
		{"marks that never decide",
			"wall other\nheader X-A: b\n\nwall other\ncode 1 challenge.js\n",
			"line 4: the marks of this wall never decide: all of them and an error status weigh 2"},
		{"hints alone", "wall other\nhint Server: guard\n",
			"line 1: the marks of this wall never decide"},
		{"a wall without marks", "wall other\nwall other\ncode 3 challenge.js\n",
			"line 1: the marks of this wall never decide"},
		{"many walls", strings.Repeat("wall other\ncode 3 challenge.js\n", maxOwn+1),
			"line 129: there are more than 64 walls"},
		{"many marks", "wall other\n" + strings.Repeat("code 3 challenge.js\n", maxRowMarks+1),
			"line 34: this wall has more than 32 marks"},
		{"a large file", strings.Repeat("#\n", MaxMarksFile), "longer than 262144 bytes"},
	} {
		marks, err := ParseMarks([]byte(tc.text))
		if err == nil || marks != nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	most := "wall other\n" + strings.Repeat("code 3 challenge.js\n", maxRowMarks)
	if _, err := ParseMarks([]byte(strings.Repeat(most, maxOwn))); err != nil {
		t.Errorf("as much as there may be: %v", err)
	}
}

// FuzzParseMarks: what is read has bounds, and judges whatever answer.
func FuzzParseMarks(f *testing.F) {
	f.Add([]byte(ownMarks))
	f.Add([]byte("wall human\r\n\theader X: *\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		marks, err := ParseMarks(text)
		if err != nil {
			return
		}
		if len(marks.rows) > maxRows || len(marks.marks.needles) > maxNeedles {
			t.Fatalf("%d rows, %d marks", len(marks.rows), len(marks.marks.needles))
		}
		marks.Of(&Answer{Status: 403, Header: http.Header{"X": {"y"}}, Body: text})
	})
}
