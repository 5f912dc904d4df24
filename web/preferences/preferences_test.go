package preferences

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"crawlnode/web/htmlparse"
	"crawlnode/web/robots"
	"crawlnode/web/urlnorm"
)

// page is what a site says of one of its pages.
type page struct {
	robots string // the lines behind "User-agent: *"
	file   string // the whole robots.txt, if not ""
	tdm    string
	header string // lines
	meta   string // elements
}

const pageURL = "http://a.test/dir/page.html"

// read merges what is said, as a node does for each page.
func (p page) read(t testing.TB, agent string) Record {
	t.Helper()
	file := p.file
	if file == "" {
		file = "User-agent: *\n" + p.robots
	}
	header := http.Header{}
	for line := range strings.Lines(p.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		header.Add(name, strings.TrimSpace(value))
	}
	u, err := urlnorm.Parse(pageURL)
	if err != nil {
		t.Fatal(err)
	}
	doc := htmlparse.ParseWith(htmlparse.Options{Agent: agent},
		[]byte("<html><head>"+p.meta+"</head><body>x"), "text/html", u)
	return Of(Read(&Sources{URL: pageURL, Robots: robots.Parse([]byte(file), agent),
		TDM: ParseTDM([]byte(p.tdm)), Header: header, Metas: doc.Metas, Agent: agent}), agent)
}

// letters writes answers as one letter for each purpose: y, n, or - for unknown.
func letters(of [NumPurposes]Answer) string {
	var b strings.Builder
	for _, a := range of {
		b.WriteByte("-yn"[a])
	}
	return b.String()
}

func meta(name, content string) string {
	return `<meta name="` + name + `" content="` + content + `">`
}

// now is when the tables are judged.
var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// TestCombinations has what sites say, what it means for search, archive, ai-input and ai-train,
// and the rule that says so. The sources are named in the package comment; "merge" is this
// program's contract.
func TestCombinations(t *testing.T) {
	t.Parallel()
	all := func(lines ...string) string { return strings.Join(lines, "\n") }
	for i, c := range []struct {
		page page
		want string
		rule string
	}{
		{page{}, "----", "merge: nobody says anything"},
		// Content-Usage.
		{page{header: "Content-Usage: train-ai=n"}, "---n", "attach 2: the field is about the content of the message"},
		{page{header: "Content-Usage: train-ai=y"}, "---y", "vocab: y allows"},
		{page{header: "Content-Usage: search=n, train-ai=y"}, "n--y", "vocab: each category has its own preference"},
		{page{header: "Content-Usage: train-ai=n;until=2027"}, "---n", "vocab: parameters are ignored"},
		{page{header: "Content-Usage: train-ai=no"}, "----", "vocab: a value that is neither y nor n says nothing"},
		{page{header: "Content-Usage: train-ai"}, "----", "RFC 9651 3.2: a key alone is a boolean, no token"},
		{page{header: `Content-Usage: train-ai="n"`}, "----", "vocab: a string is no token"},
		{page{header: "Content-Usage: Train-AI=n"}, "----", "RFC 9651 3.1.2: keys are in lower case; the field is malformed"},
		{page{header: "Content-Usage: train-ai=n, =y"}, "----", "RFC 9651 4.2: a malformed field is ignored whole"},
		{page{header: "Content-Usage: train-ai=n, train-ai=y"}, "---y", "RFC 9651 4.2.2: the last of a key counts"},
		{page{header: "Content-Usage: train-ai=y\nContent-Usage: search=n"}, "n--y", "RFC 9651 4.2: the lines are one dictionary"},
		{page{header: "Content-Usage: foo=n, train-ai=n"}, "---n", "vocab: unknown labels are ignored"},
		{page{header: "Content-Usage: ai-train=n"}, "----", "vocab: the label is train-ai"},
		{page{robots: "Content-Usage: train-ai=n"}, "---n", "attach 3.2: without a path for the whole site"},
		{page{robots: "Content-Usage: / train-ai=n"}, "---n", "attach 3.2: a path stands before a space"},
		{page{robots: "Content-Usage:\t/dir/\ttrain-ai=n"}, "---n", "attach 3.2: or a tab"},
		{page{robots: "Content-Usage: /other/ train-ai=n"}, "----", "attach 3.1: other paths"},
		{page{robots: all("Content-Usage: train-ai=n", "Content-Usage: /dir/ train-ai=y")}, "---y", "attach 3.1: the longest path"},
		{page{robots: all("Content-Usage: /dir/ train-ai=y", "Content-Usage: train-ai=n")}, "---y", "attach 3.1: the order carries no semantics"},
		{page{robots: all("Content-Usage: train-ai=n", "Content-Usage: /dir/ search=y")}, "y---",
			"attach 3.1: the rule with the longest path, and no other"},
		{page{robots: all("Content-Usage: /dir/ train-ai=n", "Content-Usage: /dir/ train-ai=y")}, "---n",
			"attach 3.1, vocab 7.1: of equal paths disallow wins"},
		{page{robots: all("Content-Usage: /*.html$ train-ai=n")}, "---n", "RFC 9309 2.2.3: special characters of paths"},
		{page{robots: "Content-Usage: /d%69r/ train-ai=n"}, "---n", "RFC 9309 2.2.2: escapes of unreserved characters"},
		{page{robots: "Content-Usage: /dir/"}, "----", "attach 3: a path without a preference"},
		{page{robots: "content-usage : train-ai=n # why"}, "---n", "attach 3.2: white space, comments and case"},
		{page{file: all("User-agent: other", "Content-Usage: train-ai=n")}, "----", "RFC 9309 2.2.1: a group of another crawler"},
		{page{file: all("User-agent: *", "Content-Usage: train-ai=n", "User-agent: crawlnode",
			"Content-Usage: train-ai=y")}, "---y", "attach 3.4: the group that names the crawler"},
		{page{
			file: all("User-agent: *", "Content-Usage: train-ai=n", "User-agent: crawlnode", "Allow: /"),
		}, "----", "RFC 9309 2.2.1: that group alone"},
		{page{file: "Content-Usage: train-ai=n"}, "----", "RFC 9309 2.2.1: a rule outside of groups"},
		{page{robots: "Content-Usage: train-ai=n", header: "Content-Usage: train-ai=y"}, "---n", "merge: between levels a no wins"},
		{page{robots: "Content-Usage: train-ai=y", header: "Content-Usage: train-ai=n"}, "---n", "merge: whichever says it"},
		// Content-Signal.
		{page{robots: "Content-Signal: search=yes, ai-input=no, ai-train=no"}, "y-nn", "contentsignals.org: yes allows, no forbids"},
		{page{robots: "Content-Signal: ai-train=no"}, "---n", "contentsignals.org: what is not named is neither granted nor restricted"},
		{page{robots: "Content-signal: Search=YES,ai-train=No"}, "y--n", "names and values in any case"},
		{page{robots: "Content-Signal: search=maybe, ai-train=no"}, "---n", "another value says nothing"},
		{page{robots: "Content-Signal: archive=no"}, "----", "archive is no signal"},
		{page{robots: all("Content-Signal: ai-train=yes", "Content-Signal: ai-train=no")}, "---n", "merge: a no wins"},
		{page{header: "Content-Signal: ai-train=no"}, "---n", "sent as a field by servers that have it in robots.txt"},
		// Robots directives.
		{page{header: "X-Robots-Tag: noindex"}, "n---", "Google: do not show this page in search results"},
		{page{header: "X-Robots-Tag: none"}, "n---", "Google: equivalent to noindex, nofollow"},
		{page{header: "X-Robots-Tag: index, follow"}, "----", "Google: the default has no effect"},
		{page{header: "X-Robots-Tag: all"}, "----", "Google: all is the default"},
		{page{header: "X-Robots-Tag: noarchive"}, "-n--", "Bing: no cached page"},
		{page{header: "X-Robots-Tag: noai, noimageai"}, "--nn", "merge: noai is no to both"},
		{page{header: "X-Robots-Tag: noimageai"}, "----", "about pictures"},
		{page{header: "X-Robots-Tag: otherbot: noai, noindex"}, "----", "Google: a prefix names the crawler"},
		{page{header: "X-Robots-Tag: crawlnode: noai"}, "--nn", "Google: this one"},
		{page{header: "X-Robots-Tag: unavailable_after: 25 Jun 2025 15:00:00 GMT"}, "n---", "Google: not in results after that time"},
		{page{header: "X-Robots-Tag: unavailable_after: 25 Jun 2030 15:00:00 GMT"}, "----", "Google: it is not yet"},
		{page{meta: meta("robots", "noindex,noarchive")}, "nn--", "Google: the element of all crawlers"},
		{page{meta: meta("CrawlNode", "noai")}, "--nn", "Google: the element of one crawler"},
		{page{meta: meta("otherbot", "noai")}, "----", "Google: of another one"},
		{page{header: "X-Robots-Tag: index", meta: meta("robots", "noindex")}, "n---", "Google: the more restrictive rule applies"},
		{page{header: "X-Robots-Tag: noindex", meta: meta("crawlnode", "index")}, "n---", "Google: also against a rule for one crawler"},
		// TDMRep.
		{page{header: "TDM-Reservation: 1"}, "---n", "TDMRep: rights are reserved"},
		{page{header: "tdm-reservation: 0"}, "----", "merge: 0 is a yes to nothing"},
		{page{header: "tdm-reservation: 2"}, "----", "TDMRep: other values are errors, as if unset"},
		{page{header: "tdm-policy: https://a.test/policy"}, "----", "TDMRep: a policy alone reserves nothing"},
		{page{meta: meta("tdm-reservation", "1")}, "---n", "TDMRep: in the page"},
		{page{tdm: `[{"location":"/dir/","tdm-reservation":1}]`}, "---n", "TDMRep: in the file"},
		{page{tdm: `[{"location":"/other/","tdm-reservation":1}]`}, "----", "TDMRep: for other paths"},
		{page{tdm: `[{"location":"/dir/*","tdm-reservation":0},{"location":"/","tdm-reservation":1}]`},
			"----", "TDMRep: the first match is the most specific"},
		{page{tdm: `[{"location":"/","tdm-reservation":1}]`, header: "TDM-Reservation: 0"}, "----", "TDMRep: the header before the file"},
		{page{tdm: `[{"location":"/","tdm-reservation":0}]`, header: "TDM-Reservation: 1"}, "---n", "TDMRep: the header before the file"},
		{page{header: "TDM-Reservation: 1", meta: meta("tdm-reservation", "0")}, "----", "TDMRep: the page before the header"},
		{page{header: "TDM-Reservation: 0", meta: meta("tdm-reservation", "1")}, "---n", "TDMRep: the page before the header"},
		{page{header: "TDM-Reservation: 1", meta: meta("tdm-reservation", "yes")}, "---n", "TDMRep: an error is as if unset"},
		{page{tdm: `{"location":"/","tdm-reservation":1}`}, "----", "TDMRep: the file is an array"},
		{page{tdm: `[{"location":"/","tdm-reservation":"1"},7,null]`}, "---n", "lenient: a number in quotes"},
		// Between protocols.
		{page{robots: "Content-Signal: search=yes, ai-train=yes", header: "TDM-Reservation: 1"}, "y--n", "merge: a no wins"},
		{page{robots: "Content-Signal: search=yes", meta: meta("robots", "noindex")}, "n---", "merge: a no wins"},
		{page{header: "TDM-Reservation: 0", robots: "Content-Usage: train-ai=n"}, "---n", "merge: 0 takes nothing back from other protocols"},
		{page{header: "Content-Usage: train-ai=y", robots: "Content-Signal: ai-input=no"}, "--ny", "merge: a yes counts where nobody says no"},
		{page{robots: "Content-Signal: search=yes, ai-input=yes, ai-train=yes", header: "X-Robots-Tag: noai"}, "y-nn", "merge: a no wins"},
	} {
		r := c.page.read(t, "crawlnode")
		if got := letters(r.Answers.At(now)); got != c.want {
			t.Errorf("%d: %+v\n%s, want %s: %s\n%q", i, c.page, got, c.want, c.rule, r.Statements)
		}
		again, err := Decode(r.Encode())
		if err != nil || letters(again.Answers.At(now)) != c.want ||
			len(again.Statements) != len(r.Statements) {
			t.Errorf("%d: read back as %+v, %v", i, again, err)
		}
		if back := ParseAnswers(r.Answers.String()); back != r.Answers {
			t.Errorf("%d: %q is read as %+v, want %+v", i, r.Answers.String(), back, r.Answers)
		}
	}
}

// TestFrom: statements are kept as they are written, with their place; what holds without them is
// not.
func TestFrom(t *testing.T) {
	t.Parallel()
	p := page{
		robots: "Content-Signal: search=yes, ai-train=no\nContent-Usage: /dir/ train-ai=n, future=y",
		tdm:    `[{"location":"/","tdm-reservation":1,"tdm-policy":"https://a.test/p"}]`,
		header: "X-Robots-Tag: index, follow\nX-Robots-Tag: noai, noimageai\nTDM-Reservation: 1",
		meta:   meta("robots", "max-snippet:-1, nosnippet") + meta("robots", "index"),
	}
	want := `robots.txt: Content-Signal: search=yes, ai-train=no
robots.txt: Content-Usage: /dir/ train-ai=n, future=y
tdmrep.json: tdm-reservation: 1
tdmrep.json: tdm-policy: https://a.test/p
header: X-Robots-Tag: noai, noimageai
header: TDM-Reservation: 1
meta: robots: max-snippet:-1, nosnippet`
	if got := strings.Join(p.read(t, "crawlnode").From(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAgain: what a page says that was not sent again stays; the site's words are those of now, and
// a 304 replaces the fields that it has.
func TestAgain(t *testing.T) {
	t.Parallel()
	first := page{
		robots: "Content-Signal: ai-train=no",
		header: "X-Robots-Tag: noarchive\nContent-Usage: search=n",
		meta:   meta("robots", "noai"),
	}.read(t, "crawlnode")
	for i, c := range []struct {
		now  page
		want string
	}{
		{page{}, "nnnn"},
		{page{robots: "Content-Signal: search=no"}, "nnnn"},
		{page{header: "Content-Usage: search=y"}, "ynnn"},
		{page{header: "X-Robots-Tag: all\nContent-Usage: search=y"}, "y-nn"},
	} {
		header := http.Header{}
		for line := range strings.Lines(c.now.header) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			header.Add(name, value)
		}
		fresh := c.now.read(t, "crawlnode").Statements
		got := Of(Again(first.Statements, fresh, header, true, "crawlnode"), "crawlnode")
		if l := letters(got.Answers.At(now)); l != c.want {
			t.Errorf("%d: %s, want %s: %q", i, l, c.want, got.Statements)
		}
	}
	if got := Merge(Again(first.Statements, nil, http.Header{}, false, "crawlnode"),
		"crawlnode"); letters(got.Of) != "--nn" {
		t.Errorf("with a whole header: %s, want what the page says", letters(got.Of))
	}
}

// TestUnavailableAfter: search ends at the earliest time that is named, and the record says so
// whenever it is read.
func TestUnavailableAfter(t *testing.T) {
	t.Parallel()
	r := page{
		header: "X-Robots-Tag: unavailable_after: 2026-12-01\nX-Robots-Tag: unavailable_after: " +
			"2026-11-30",
	}.read(t, "crawlnode")
	end := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	if no := r.Answers.Refused(PurposesOf(Search), end.Add(-time.Second)); no != 0 {
		t.Error("search is refused before the time")
	}
	if no := r.Answers.Refused(PurposesOf(Search, AITrain), end); no != PurposesOf(Search) {
		t.Errorf("at the time %v is refused, want search", no)
	}
	if report := r.Report(end); report.Search == nil || *report.Search || report.Archive != nil {
		t.Errorf("the report says %+v", report)
	}
}

// TestPurposes: names are read and written.
func TestPurposes(t *testing.T) {
	t.Parallel()
	s, err := ParsePurposes("ai-train, search")
	if err != nil || s.String() != "search,ai-train" || !s.ReadsTDMFile() {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := ParsePurposes("search,training"); err == nil ||
		!strings.Contains(err.Error(), `"training"`) {
		t.Errorf("a purpose that does not exist: %v", err)
	}
	if PurposesOf(Search, Archive).ReadsTDMFile() {
		t.Error("tdmrep.json is read for search")
	}
}

// FuzzRead: whatever a site sends, what is kept is bounded, means the same after it was stored, and
// shortening does not turn a no of a single protocol around.
func FuzzRead(f *testing.F) {
	f.Add("Content-Usage: train-ai=n", `[{"location":"/","tdm-reservation":1}]`,
		"noai, unavailable_after: 2027", "train-ai=n", "noindex")
	f.Add(strings.Repeat("Content-Usage: /dir/ train-ai=n, x=y\n", 40), "[]",
		strings.Repeat("x", 300)+", noindex", strings.Repeat("a=b, ", 90)+"search=n", "none")
	f.Fuzz(func(t *testing.T, lines, tdm, tag, dictionary, content string) {
		s := Sources{
			URL:    pageURL,
			Agent:  "crawlnode",
			Robots: robots.Parse([]byte("User-agent: *\n"+lines), "crawlnode"),
			TDM:    ParseTDM([]byte(tdm)),
			Header: http.Header{"X-Robots-Tag": {tag, "noarchive"}, "Content-Usage": {dictionary}},
			Metas:  []htmlparse.Meta{{Name: "robots", Content: content}},
		}
		r := Of(Read(&s), "crawlnode")
		size := 0
		for _, st := range r.Statements {
			size += len(st.Field) + len(st.Value)
		}
		if len(r.Statements) > MaxStatements || size > MaxBytes {
			t.Fatalf("%d statements, %d bytes", len(r.Statements), size)
		}
		back, err := Decode(r.Encode())
		if err != nil || back.Answers != r.Answers || len(back.Statements) != len(r.Statements) {
			t.Fatalf("read back as %+v, %v", back, err)
		}
		if Merge(back.Statements, "crawlnode") != r.Answers {
			t.Fatal("the statements say something else than the answers")
		}
		if d := htmlparse.ReadDirectives([]string{tag}, "crawlnode", true); d.NoAI &&
			r.Answers.Of[AITrain] != No {
			t.Fatalf("the no of %q is lost", tag)
		}
		again := CompactTDM([]byte(tdm))
		if len(ParseTDM(again)) != len(s.TDM) || len(again) > 6*len(tdm)+100 {
			t.Fatalf("%q is compacted to %q", tdm, again)
		}
	})
}

// FuzzDecode: a damaged record is an error, and what is read is written back the same.
func FuzzDecode(f *testing.F) {
	f.Add(page{header: "X-Robots-Tag: noai"}.read(f, "crawlnode").Encode())
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Decode(text)
		if err != nil {
			return
		}
		if back, err := Decode(r.Encode()); err != nil || back.Answers != r.Answers {
			t.Fatalf("%+v is read back as %+v, %v", r, back, err)
		}
	})
}

// TestCompactTDM: what is stored of a file says the same, and is not longer than a hostile file
// was.
func TestCompactTDM(t *testing.T) {
	t.Parallel()
	hostile := `[{"location":"/","tdm-reservation":1,"more":7,"tdm-policy":"` +
		strings.Repeat("<&>", 300) + `"}, {"location":""}]`
	got := CompactTDM([]byte(hostile))
	if rules := ParseTDM(got); len(rules) != 1 || rules[0].Reserved != "1" ||
		len(rules[0].Policy) != 900 || len(got) > len(hostile) {
		t.Errorf("%d bytes of %d: %+v", len(got), len(hostile), rules)
	}
	for _, file := range []string{"", "[]", "{}", "[1]", `[{"location":7}]`,
		"[" + strings.Repeat(" ", MaxTDMFile) + "]"} {
		if got := CompactTDM([]byte(file)); got != nil {
			t.Errorf("%.20q is stored as %q", file, got)
		}
	}
}
