package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/search/analyse"
	"crawlnode/search/query"
	"crawlnode/search/segment"
)

// everything is all results of a question, in the order of their URLs without http://.
func everything(t *testing.T, s Source, text string) (found []string, total int64, exact bool) {
	t.Helper()
	for page := 1; ; page++ {
		r := Request{Text: text, Page: page, Size: MaxSize, Now: noon}
		p, err := Search(context.Background(), s, r)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, r := range p.Results {
			found = append(found, strings.TrimPrefix(r.URL, "http://"))
		}
		if len(p.Results) == 0 {
			slices.Sort(found)
			return found, p.Total, p.TotalExact
		}
	}
}

// TestPagesEnd: pages lead through the first results, each once, and end.
func TestPagesEnd(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	var docs []Document
	for i := range MaxResults + 150 {
		docs = append(docs, doc(fmt.Sprintf("h%d.test/", i), fmt.Sprint("Number ", i),
			fmt.Sprintf("The badger has the number %d, and %d is no other's.", i, i*i+7)))
	}
	apply(t, x, Batch{Put: docs})
	found, total, _ := everything(t, x, "badger")
	if n := len(found); n != MaxResults || total < MaxResults {
		t.Errorf("%d results of %d, want %d", n, total, MaxResults)
	}
	if n := len(slices.Compact(found)); n != len(found) {
		t.Errorf("%d results, of which %d are different", len(found), n)
	}
}

// TestQuoted: a phrase is found where its words stand as they are written, and nowhere else.
func TestQuoted(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	docs := []Document{
		doc("a/locked", "Errors", "Error 5: the database is locked."),
		doc("a/locking", "Locks",
			"Database file locking. A database was locked; databases lock what is locked."),
		doc("a/hamlet", "A play", "To be, or not to be: that is the question."),
		doc("a/tobe", "Not a play", "Be or not be to. What is to be is not. To or not."),
		doc("a/title", "The state of the union", "Nothing else."),
		doc("a/state", "Union",
			"A state of a union, the states of the unions. The union's state of mind."),
		doc("a/server", "Servers", "The server's port. The servers port. Set the server."),
		doc("a/port", "Ports", "The server port. He don know."),
		doc("a/dont", "Don't", "We don’t know. It’s O'Brien's; l'eau de l’Ouest."),
		doc("a/names", "Names",
			"Written in C++ and C#, e.g. node.js, pg_stat_activity, state-of-the-art 3.14 10,000."),
		doc("a/plain", "Plain", "Written in C and node js e g pg stat activity state of the art 3 14"),
		doc("a/blocks", "Blocks", "The first block ends\nwith a line. Another sentence? Begins here"),
		doc("a/anchor", "An anchor", "Nothing of this."),
		doc("de/baeume", "Bäume", "Die Bäume fällen. Ein Baum fällt auf das Haus."),
		doc("fr/eau", "Boire", "De l'eau minérale, des eaux minérales."),
		doc("ja/tokyo", "東京", "東京都は日本の首都です。"),
		doc("ja/both", "京都", "東京、京都と大阪。"),
		doc("th/bangkok", "กรุงเทพ", "กรุงเทพมหานครเป็นเมืองหลวง"),
		doc("ar/book", "كتاب", "هذا كِتَابٌ جديد"),
		doc("xx/twice", "the the", "the the the end"),
		doc("xx/left-out", "", "This is the end\n\nof a menu\nand this is the\n\nend of the text"),
		doc("xx/apostrophes", "", "b a't漢 c a't x"), // the words t and a
	}
	for i := range docs {
		docs[i].Language, _, _ = strings.Cut(docs[i].Host, ".")
		if len(docs[i].Language) != 2 || docs[i].Language == "xx" {
			docs[i].Language = "en"
		}
	}
	docs[12].Anchors = []string{"the database is locked"}
	docs[12].Description = "the database is locked"
	apply(t, x, Batch{Put: docs})
	for _, c := range []struct{ text, want string }{
		{`"database is locked"`, "a/locked"},
		{`"DATABASE IS LOCKED"`, "a/locked"},
		{`"database was locked"`, "a/locking"},
		{`"database locked"`, ""},
		{`"locked database"`, ""},
		{`"what is locked"`, "a/locking"},
		{`"locked"`, "a/locked a/locking"},
		{`"locking"`, "a/locking"},
		{`"locks"`, "a/locking"}, // its title
		{`"lockings"`, ""},
		{`"databse"`, ""}, // not corrected
		{`"databse" locked`, ""},
		{`"file locking" zzz yyy locked`, "a/locking"}, // words may be missing, what is quoted not
		{`"to be or not to be"`, "a/hamlet"},
		{`"to be, or not to be"`, "a/hamlet"},
		{`"is to be"`, "a/tobe"},
		{`"to or not"`, "a/tobe"},
		{`"be or not"`, "a/hamlet a/tobe"},
		{`"not"`, "a/hamlet a/tobe"},
		{`"state of the union"`, "a/title"},
		{`"state of a union"`, "a/state"},
		{`"states of the unions"`, "a/state"},
		{`"of the"`, "a/names a/plain a/state a/title xx/left-out"},
		{`title:"of the"`, "a/title"},
		{`"of the" -"states of the"`, "a/names a/plain a/title xx/left-out"},
		{`union -"of the"`, ""},
		{`"of the" site:a union`, "a/state a/title"},
		{`"of the" site:b`, ""},
		{`"of the" "union s"`, ""},
		{`"the server"`, "a/port a/server"},
		{`"the server's port"`, "a/server"},
		{`"the server port"`, "a/port"},
		{`"the servers port"`, "a/server"},
		{`"don't know"`, "a/dont"},
		{`"don’t know"`, "a/dont"},
		{`"don know"`, "a/port"},
		{`"It's O’Brien"`, "a/dont"},
		{`"brien's"`, "a/dont"},
		{`"in c++"`, "a/names"},
		{`"in C"`, "a/plain"},
		{`"C#"`, "a/names"},
		{`"node.js"`, "a/names a/plain"},
		{`"pg_stat_activity"`, "a/names a/plain"},
		{`"e.g. node"`, "a/names"},
		{`"state-of-the-art"`, "a/names a/plain"},
		{`"3.14"`, "a/names a/plain"},
		{`"10,000"`, "a/names"},
		{`"ends with a line another"`, "a/blocks"},
		{`"sentence begins"`, "a/blocks"},
		{`"errors error"`, ""}, // a title and a text are no neighbours
		{`"Die Bäume"`, "de/baeume"},
		{`"die baume fallen"`, "de/baeume"},
		{`"Baum fällen"`, ""},
		{`"ein Baum"`, "de/baeume"},
		{`"l'eau"`, "a/dont fr/eau"},
		{`"eau minerale"`, "fr/eau"},
		{`"de eau"`, ""},
		{`"東京都"`, "ja/tokyo"},
		{`"京都"`, "ja/both ja/tokyo"},
		{`"東京、京都"`, "ja/both"},
		{`"日本の首都"`, "ja/tokyo"},
		{`"首都です"`, "ja/tokyo"},
		{`"เมืองหลวง"`, "th/bangkok"},
		{`"หลวงเมือง"`, ""},
		{`"هذا كتاب"`, "ar/book"},
		{`"the the"`, "xx/twice"},
		{`"is the end of the text"`, ""},
		{`"of a menu and this"`, "xx/left-out"},
		{`"end of the text"`, "xx/left-out"},
		{`"b a't漢"`, "xx/apostrophes"},
		{`"c a't x"`, "xx/apostrophes"},
		{`"the the the"`, "xx/twice"},
		{`"the the the the"`, ""},
		{`"the the the" end`, "xx/twice"},
		{`database is locked -"is locked"`, "a/anchor"}, // not in its text
		{`"is locked`, "a/locked a/locking"},
		{`""`, ""},
		{`"!?"`, ""},
	} {
		got, total, exact := everything(t, x, c.text)
		if strings.Join(got, " ") != c.want || total != int64(len(got)) || !exact {
			t.Errorf("%s found %q, want %q; total %d, exact %v", c.text, got, c.want, total, exact)
		}
	}
}

// words of a few stems, common ones among them, so that many phrases occur by chance.
var exactWords = strings.Fields("the of to be not is lock locks locked locking file files filing " +
	"state states stated connect connected")

// TestQuotedAgainstTexts compares quoted questions with a search for strings in the texts, over
// batches, merges and removals, in one index and in three.
func TestQuotedAgainstTexts(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	one := open(t, t.TempDir())
	three := cluster{open(t, t.TempDir()), open(t, t.TempDir()), open(t, t.TempDir())}
	texts := map[string]string{}
	random := func(n int) string {
		words := make([]string, n)
		for i := range words {
			words[i] = exactWords[r.IntN(len(exactWords))]
		}
		return strings.Join(words, " ")
	}
	for range 20 {
		var b Batch
		for range 16 {
			d := doc(fmt.Sprintf("h%d.test/%d", r.IntN(3), r.IntN(200)), "", random(1+r.IntN(60)))
			d.FetchedAt = noon.Add(time.Duration(len(texts)) * time.Second)
			texts[strings.TrimPrefix(d.URL, "http://")] = d.Text
			b.Put = append(b.Put, d)
		}
		gone := fmt.Sprintf("h1.test/%d", r.IntN(200))
		b.Remove = []Removal{{URL: "http://" + gone}}
		if !slices.ContainsFunc(b.Put, func(d Document) bool { return d.URL == "http://"+gone }) {
			delete(texts, gone)
		}
		for i := range b.Put { // of two of one URL the last one counts
			b.Put[i].Revision = uint32(i)
			b.Put[i].FetchedAt = b.Put[0].FetchedAt
		}
		apply(t, one, b)
		for i, x := range three {
			part := Batch{Remove: b.Remove}
			for _, d := range b.Put {
				if int(d.Host[1]-'0') == i {
					part.Put = append(part.Put, d)
				}
			}
			apply(t, x, part)
		}
		for url := range texts {
			d, ok, err := one.Get("http://" + url)
			if err != nil || !ok {
				t.Fatalf("%s: %v, %v", url, ok, err)
			}
			texts[url] = d.Text // a repeated URL may have come with an older time
		}
	}
	for range 300 {
		phrase := random(1 + r.IntN(4))
		without := ""
		if r.IntN(4) == 0 {
			without = random(1 + r.IntN(2))
		}
		has := func(text, phrase string) bool { return strings.Contains(" "+text+" ", " "+phrase+" ") }
		var want []string
		for url, text := range texts {
			if has(text, phrase) && (without == "" || !has(text, without)) {
				want = append(want, url)
			}
		}
		slices.Sort(want)
		question := `"` + phrase + `"`
		if without != "" {
			question += ` -"` + without + `"`
		}
		for name, s := range map[string]Source{"one": one, "three": three} {
			got, total, exact := everything(t, s, question)
			if !slices.Equal(got, want) || total != int64(len(want)) || !exact {
				t.Fatalf("%s in %s: %d found, want %d; total %d, exact %v\n%q\n%q",
					question, name, len(got), len(want), total, exact, got, want)
			}
		}
	}
}

// FuzzQuoted takes words of a text, with what stands between them, and looks for them: a text has
// what is quoted of it. No disk is used, so that there are many.
func FuzzQuoted(f *testing.F) {
	f.Add("To be, or not to be: l'eau, C++ and 東京都、京都 don’t. Ünïcödé a_b", uint8(2), uint8(5))
	f.Add("the the the the 漢\u200b字漢字 o'o'o'clock ʼn 'tis x's", uint8(0), uint8(9))
	f.Fuzz(func(t *testing.T, text string, from, n uint8) {
		words := strings.Fields(strings.ToValidUTF8(text, ""))
		if int(from) >= len(words) || len(text) > 1500 || strings.ContainsAny(text, "\"“”„«»") {
			return
		}
		quoted := strings.Join(words[from:min(len(words), int(from)+1+int(n))], " ")
		q := query.Parse(`"` + quoted + `"`)
		if len(q.Clauses) == 0 {
			return
		}
		if len(q.Clauses) != 1 || !q.Clauses[0].Exact || q.Cut {
			t.Fatalf("%q is read as %+v", quoted, q)
		}
		found, follow := false, newFollower(0, &q.Clauses[0])
		for s := analyse.NewScanner(strings.Join(words, " ")); s.Next(); {
			_, ends := follow.next(s)
			found = found || ends
		}
		if !found {
			t.Errorf("%q, read as %q, is not found in %q", quoted, q.Clauses[0].Forms, words)
		}
	})
}

// TestQuotedOfAnyText: of texts of all kinds of words, each is found by what is quoted of it.
func TestQuotedOfAnyText(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	pieces := strings.Split("To| |be|,|東京|、|都|l'|'s|’t|don|\u0301|\u200b|\u00ad|C++|#|+|the|a|_|.|"+
		"ʼ|漢|กรุง|ي|1|00", "|")
	var b Batch
	var quoted []string
	for len(b.Put) < 1000 {
		var text strings.Builder
		for range 1 + r.IntN(40) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		words := strings.Fields(text.String())
		if len(words) == 0 {
			continue
		}
		from := r.IntN(len(words))
		d := doc(fmt.Sprintf("h%d.test/", len(b.Put)), "", text.String())
		d.Language = []string{"en", "de", "fr", "ja", ""}[r.IntN(5)]
		b.Put = append(b.Put, d)
		quoted = append(quoted, strings.Join(words[from:from+1+r.IntN(len(words)-from)], " "))
	}
	x := open(t, t.TempDir())
	apply(t, x, b)
	for i, d := range b.Put {
		p := find(t, x, fmt.Sprintf(`host:%s "%s"`, d.Host, quoted[i]))
		if p.Total != 1 {
			t.Errorf("%q is not found in %q", quoted[i], d.Text)
		}
	}
}

// TestEarlierFormat: a segment that an earlier version wrote is searched, and what is quoted is not
// said to be exact; once it was made anew it is. testdata/format1 was written by such a version.
func TestEarlierFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/format1")); err != nil {
		t.Fatal(err)
	}
	early, err := segment.Open(segmentPath(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	before := &Index{now: newSnapshot([]*part{newPart(early, 0, nil)}), stemmers: stemmerPool()}
	for _, c := range []struct {
		text  string
		total int64
		exact bool
	}{
		{`"database is locked"`, 2, false}, // as the earlier version answered
		{"database locked", 2, true},
		{"play", 1, true},
		{"play -\"database is locked\"", 1, false},
	} {
		if p := find(t, before, c.text); p.Total != c.total || p.TotalExact != c.exact {
			t.Errorf("%s: %d found, exact %v", c.text, p.Total, p.TotalExact)
		}
	}
	x := open(t, dir)
	// A removal while the segment is made anew is not lost.
	apply(t, x, Batch{Remove: []Removal{{URL: "http://old.test/union"}}})
	for patience := time.Now().Add(time.Minute); !find(t, x, `"database is locked"`).TotalExact; {
		if time.Now().After(patience) {
			t.Fatal("the segment was not made anew")
		}
		runtime.Gosched()
	}
	for text, want := range map[string]string{
		`"database is locked"`:                "old.test/locked",
		`"what is locked"`:                    "old.test/locking",
		`"to be or not to be"`:                "old.test/hamlet",
		`"is"`:                                "old.test/hamlet old.test/locked old.test/locking",
		`"state of the union"`:                "",
		"play":                                "old.test/hamlet",
		`title:"a play" "the question"`:       "old.test/hamlet",
		`"it is not" -"a database was"`:       "old.test/locked",
		`"a database was locked" before:2026`: "",
	} {
		got, _, exact := everything(t, x, text)
		if strings.Join(got, " ") != want || !exact {
			t.Errorf("%s found %q, want %q; exact %v", text, got, want, exact)
		}
	}
	s := x.snapshot()
	defer s.release()
	for _, p := range s.parts {
		if !p.seg.Exact() {
			t.Errorf("segment %d is still of the earlier format", p.number)
		}
	}
}

// TestQuotedIsBounded: long and repeated phrases take bounded work, and are exact only when all of
// them was looked for.
func TestQuotedIsBounded(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	same := strings.Repeat("the ", 32<<10)
	apply(t, x, Batch{Put: []Document{
		doc("a.test/", "", "one "+strings.Repeat("word and ", 120)+"two"),
		doc("b.test/", "", same), doc("c.test/", "", same),
	}})
	long := "one " + strings.TrimSpace(strings.Repeat("word and ", 120)) + " two"
	if got, total, exact := everything(t, x, `"`+long+`"`); len(got) != 1 || total != 1 || !exact {
		t.Errorf("a phrase of 242 words: %q, total %d, exact %v", got, total, exact)
	}
	for _, text := range []string{
		`"` + strings.Repeat("the ", 10_000) + `"`,
		strings.Repeat(`"the" `, 10_000),
		strings.Repeat(`"the the the" "word and" `, 10_000),
		`"` + strings.Repeat("a ", 1000) + `"`,
		`"` + strings.Repeat("字", 1000) + `"`,
	} {
		p := find(t, x, text)
		if p.TotalExact {
			t.Errorf("%.30s…, %d bytes: total %d is said to be exact", text, len(text), p.Total)
		}
		if !strings.Contains(p.Interpreted, "left out") {
			t.Errorf("%.30s… is read as %.80s", text, p.Interpreted)
		}
	}
	costly := plan(t, x, `"`+strings.Repeat("the ", 250)+`"`)
	answer, err := x.ask(t.Context(), costly, &budget{left: 50_000})
	if err != nil || answer.Exact {
		t.Errorf("a phrase that costs more than there is: %+v, %v", answer, err)
	}
}

func plan(t *testing.T, x *Index, text string) Plan {
	t.Helper()
	p := Plan{Question: Question{Text: text, Now: noon}, Depth: shallow}
	var err error
	if p.Statistics, err = x.Statistics(t.Context(), p.Question); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCutTexts: while a page has more text than is kept, an answer that this text could change is
// not exact.
func TestCutTexts(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	long := doc("long.test/", "A long page",
		"first words "+strings.Repeat("filler ", MaxText/7)+" last words")
	early := doc("early.test/", "", strings.Repeat("filler ", earlierMaxText/7)+"a b c")
	early.Text = early.Text[:earlierMaxText-1]
	told := doc("told.test/", "", "nothing")
	told.Cut = true
	apply(t, x, Batch{Put: []Document{early}})
	if p := find(t, x, `"last words"`); p.TotalExact {
		t.Error("of a text that an earlier version cut all is said to be known")
	}
	apply(t, x, Batch{Remove: []Removal{{URL: early.URL}}, Put: []Document{told}})
	if p := find(t, x, `"last words"`); p.TotalExact {
		t.Error("of a text that is said to be cut all is said to be known")
	}
	if d, ok, err := x.Get(told.URL); !ok || !d.Cut {
		t.Errorf("%+v, %v", d, err)
	}
	apply(t, x, Batch{Remove: []Removal{{URL: told.URL}}})
	short := doc("short.test/", "A short page", "some words of the last page")
	apply(t, x, Batch{Put: []Document{long, short}})
	for _, c := range []struct {
		text  string
		total int64
		exact bool
	}{
		{`"last words"`, 0, false},
		{`"first words"`, 1, true}, // the long one is found
		{`"some words"`, 1, false},
		{`words`, 2, true},
		{`words -missing`, 2, false},
		{`"some words" site:short.test`, 1, true},
		{`"some words" -site:long.test`, 1, true},
		{`"some words" before:2020`, 0, true},
		{`title:"a short page"`, 1, true},
		{`lang:en`, 2, true},
	} {
		if p := find(t, x, c.text); p.Total != c.total || p.TotalExact != c.exact {
			t.Errorf("%s: %d found, exact %v, want %d, %v", c.text, p.Total, p.TotalExact, c.total, c.exact)
		}
	}
}

// TestNearDuplicatesOfAPhrase: each page that has a phrase is a result; and a total that leaves out
// near-duplicates is exact only if all hits were compared.
func TestNearDuplicatesOfAPhrase(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	var b Batch
	for i := range 2 * shallow {
		d := doc(fmt.Sprintf("h%d.test/", i), "", strings.Repeat("the same words of all pages ", 10))
		d.Fingerprint = 0x123456789
		b.Put = append(b.Put, d)
	}
	apply(t, x, b)
	got, total, exact := everything(t, x, `"of all"`)
	if len(got) != 2*shallow || total != 2*shallow || !exact {
		t.Errorf("%d results of a phrase, total %d, exact %v", len(got), total, exact)
	}
	if p := find(t, x, "pages"); p.TotalExact {
		t.Errorf("total %d of one result with %d near-duplicates is said to be exact", p.Total, 2*shallow)
	}
}

// TestPagesOfResults: the pages of an answer have each result once, though the first are made of
// fewer hits than the later ones, and hosts are mixed.
func TestPagesOfResults(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	var b Batch
	var want []string
	for i := range 700 {
		host := "many.test"
		if i%9 == 8 || i > 600 && i%2 == 0 {
			host = "few.test"
		}
		text := strings.Repeat("filler ", i/2) + "one two " + strings.Repeat("filler ", i%50)
		d := doc(fmt.Sprintf("%s/%d", host, i), "", text+"three filler")
		want = append(want, strings.TrimPrefix(d.URL, "http://"))
		b.Put = append(b.Put, d)
	}
	slices.Sort(want)
	apply(t, x, b)
	for _, question := range []string{
		`"one two"`, "one three", "two", `"one two" three filler`, "lang:en",
	} {
		got, total, exact := everything(t, x, question)
		if !slices.Equal(got, want) || total != 700 || !exact {
			t.Errorf("%s: %d results of which %d are different, total %d, exact %v",
				question, len(got), len(slices.Compact(got)), total, exact)
		}
	}
}

// TestSnippetOfAPhrase: the passage has the phrase, which is marked as a whole; its words elsewhere
// are not.
func TestSnippetOfAPhrase(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	filler := strings.Repeat("The database of locked doors is large. ", 3000)
	apply(t, x, Batch{Put: []Document{
		doc("a.test/", "", filler+"If the database is\nlocked, wait. "+filler),
		doc("c.test/", "", "This is the\n\nend of this. The end of this is the end of it."),
		doc("b.test/", "", "O'Neil's database's locked; the the the end. 東京、京都と大阪。"),
	}})
	for _, c := range []struct{ text, marked string }{
		{`"database is locked"`, "database is locked"},
		{`"database is locked" wait`, "database is locked|wait"},
		{`"database is locked" doors`, "database is locked|doors"},
		{`"neil's database"`, "Neil's database"},
		{`"the the the end"`, "the the the end"},
		{`"京都と大"`, "京都と大"},
		{`locked "the end"`, "locked|the end"},
		{`"is the end"`, "is the end"},
	} {
		p := find(t, x, c.text)
		if len(p.Results) != 1 {
			t.Errorf("%s: %d results", c.text, len(p.Results))
			continue
		}
		var marked []string
		for _, part := range p.Results[0].Highlight {
			if part.Hit && !slices.Contains(marked, part.Text) {
				marked = append(marked, part.Text)
			}
		}
		slices.Sort(marked)
		want := strings.Split(c.marked, "|")
		slices.Sort(want)
		if !slices.Equal(marked, want) {
			t.Errorf("%s marks %q, want %q", c.text, marked, want)
		}
	}
}
