package focus

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// speaker writes pages from a vocabulary of its own and one that all share.
type speaker struct {
	rng    *source
	own    []string
	shared []string
}

func newSpeaker(seed uint64, name string) *speaker {
	s := &speaker{rng: &source{seed}}
	for i := range 300 {
		s.own = append(s.own, fmt.Sprintf("%s%c%c", name, 'a'+i%26, 'a'+i/26))
		s.shared = append(s.shared, fmt.Sprintf("the%c%c", 'a'+i%26, 'a'+i/26))
	}
	return s
}

// page has n words, one in every so many its own.
func (s *speaker) page(n, every int) string {
	var b strings.Builder
	for range n {
		list := s.shared
		if s.rng.next()%uint64(every) == 0 {
			list = s.own
		}
		r := s.rng.next() % uint64(len(list)*len(list))
		b.WriteString(list[int(math.Sqrt(float64(r)))] + " ")
	}
	return b.String()
}

// trained is a Trainer with pages of two speakers.
func trained(t *testing.T, like, unlike int) *Trainer {
	t.Helper()
	tr := NewTrainer()
	a, b := newSpeaker(1, "sql"), newSpeaker(2, "plot")
	for i := range like {
		tr.Add(true, Page{
			URL:   fmt.Sprintf("http://a.test/%s.html", a.own[i%20]),
			Title: a.page(4, 1),
			Text:  []byte(a.page(200, 12)),
		})
	}
	for i := range unlike {
		tr.Add(false, Page{
			URL:   fmt.Sprintf("http://b.test/%s.html", b.own[i%20]),
			Title: b.page(4, 1),
			Text:  []byte(b.page(200, 12)),
		})
	}
	return tr
}

func TestTrain(t *testing.T) {
	tr := trained(t, 60, 240)
	steps, last := 0, 0
	m, err := tr.Train(Options{
		Seed:     7,
		Progress: func(_, of int) error { steps++; last = of; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	info := m.Info()
	if info.Like != 60 || info.Unlike != 240 || info.AUC < 0.95 || info.Accuracy < 0.9 ||
		info.LinkAUC < 0.9 || info.Weights == 0 || steps != last {
		t.Errorf("%+v, %d steps of %d", info, steps, last)
	}
	if len(info.For) == 0 || !strings.Contains(strings.Join(info.For, " "), "sql") ||
		!strings.Contains(strings.Join(info.Against, " "), "plot") {
		t.Errorf("for %q, against %q", info.For, info.Against)
	}
	a, b := newSpeaker(3, "sql"), newSpeaker(4, "plot")
	right, sum := 0, 0.0
	for range 100 {
		p, q := m.Score("", []byte(a.page(200, 12))), m.Score("", []byte(b.page(200, 12)))
		if sum += p; p > 0.5 {
			right++
		}
		if q < 0.5 {
			right++
		}
	}
	if right < 180 {
		t.Errorf("%d of 200 new pages are on the right side", right)
	}
	if like, unlike := m.LinkScore(a.own[250], ""),
		m.LinkScore(b.own[250], "http://x.test/"+b.own[251]); like <= 0.5 || unlike >= 0.5 {
		t.Errorf("links: %v and %v", like, unlike)
	}
	if m.Score("", nil) != 0.5 || m.LinkScore("", "") != 0.5 || m.LinkScore("zzz", "") != 0.5 {
		t.Error("what says nothing is not in the middle")
	}
}

// The same pages and seed give the same bytes, and the scores are those of the bytes.
func TestTrainRepeats(t *testing.T) {
	var files [][]byte
	for range 2 {
		m, err := trained(t, 30, 30).Train(Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m.Encode())
		back, err := Decode(m.Encode())
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(newSpeaker(5, "sql").page(100, 5))
		if m.Score("a title", text) != back.Score("a title", text) {
			t.Error("the model that was read has other scores")
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two models of the same pages")
	}
}

func TestTrainRefuses(t *testing.T) {
	if _, err := trained(t, MinPages-1, 50).Train(Options{}); !errors.Is(err, ErrTooFew) ||
		!strings.Contains(err.Error(), "of the topic") {
		t.Errorf("too few pages of the topic: %v", err)
	}
	if _, err := trained(t, 50, 0).Train(Options{}); !errors.Is(err, ErrTooFew) {
		t.Errorf("no other pages: %v", err)
	}
	tr, s := NewTrainer(), newSpeaker(9, "same")
	for i := range 80 {
		tr.Add(i%2 == 0, Page{Text: []byte(s.page(100, 3))})
	}
	if _, err := tr.Train(Options{Seed: 1}); err == nil ||
		!strings.Contains(err.Error(), "cannot be told apart") {
		t.Errorf("two sets of the same pages: %v", err)
	}
}

func TestTrainerTakes(t *testing.T) {
	tr := NewTrainer()
	for _, c := range []struct {
		like bool
		text string
		want Taken
	}{
		{true, "one two three", Used}, {true, "", Empty}, {false, "12 34 --", Empty},
		{true, "ONE, two: three", Repeat}, {false, "one two three", Repeat},
		{false, "four five", Used}, {true, "four five", Used}, {true, "four five", Repeat}, {false, "six", Used},
	} {
		if got := tr.Add(c.like, Page{Text: []byte(c.text)}); got != c.want {
			t.Errorf("%v %q: %d, want %d", c.like, c.text, got, c.want)
		}
	}
	if like, unlike := tr.Pages(); like != 2 || unlike != 1 {
		t.Errorf("%d and %d pages", like, unlike)
	}
	if n := tr.Dropped(false, Repeat); n != 2 {
		t.Errorf("%d repeats on the other side", n)
	}
}

// Follow keeps the middle where it is, rises with both scores, and stays between 0 and 1.
func TestFollow(t *testing.T) {
	m := drawn(3)
	if got := m.Follow(0.5, "", ""); got != 0.5 {
		t.Errorf("nothing known: %v", got)
	}
	if got := m.Follow(0.5, "create index", "http://x.test/a.html"); math.Abs(
		got-m.LinkScore("create index", "http://x.test/a.html")) > 1e-12 {
		t.Errorf("a page in the middle changes a link: %v", got)
	}
	last := -1.0
	for _, page := range []float64{-1, 0, 0.1, 0.5, 0.9, 1, 2} {
		got := m.Follow(page, "plot", "")
		if !(got >= last && got > 0 && got < 1) {
			t.Errorf("page %v: %v after %v", page, got, last)
		}
		last = got
	}
	// A page that is surely on the topic speaks for a link of which nothing is known, as much as is
	// inherited.
	if on, off := m.Follow(0.9, "", ""), m.Follow(0.1, "", ""); math.Abs(on-0.75) > 1e-9 ||
		math.Abs(on+off-1) > 1e-9 {
		t.Errorf("inherited of 0.9: %v, of 0.1: %v", on, off)
	}
}

// TestWordsCountOnce: a page's menu may say one word a hundred times; it says no more than once.
func TestWordsCountOnce(t *testing.T) {
	t.Parallel()
	m, err := trained(t, 60, 240).Train(Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	const text = "thead theba thebb thebc thebd "
	word := newSpeaker(1, "sql").own[299] + " "
	// One pair more has words before and behind that are the same; whatever comes behind those is
	// known.
	once, often := m.Score("", []byte(text+word+word)), m.Score("",
		[]byte(text+strings.Repeat(word, 100)))
	if once != often {
		t.Errorf("said twice: %v, said a hundred times: %v", once, often)
	}
	if without := m.Score("", []byte(text)); !(once > without) {
		t.Errorf("with a word of the topic %v, without %v", once, without)
	}
}

func TestAUC(t *testing.T) {
	for _, c := range []struct {
		like, unlike []float64
		want         float64
	}{{[]float64{2, 3}, []float64{0, 1}, 1}, {[]float64{0}, []float64{1}, 0},
		{[]float64{1, 1}, []float64{1}, 0.5}, {[]float64{1}, nil, 0.5},
		{[]float64{1, 3}, []float64{2}, 0.5}} {
		var list []measured
		for _, x := range c.like {
			list = append(list, measured{true, x})
		}
		for _, x := range c.unlike {
			list = append(list, measured{false, x})
		}
		if got := auc(list); got != c.want {
			t.Errorf("%v over %v: %v, want %v", c.like, c.unlike, got, c.want)
		}
	}
}

// Scores of pages are probabilities: of those with a score near p, about p of them are on the
// topic, when both sets are of one size.
func TestScoresAreCalibrated(t *testing.T) {
	tr := NewTrainer()
	a, b := newSpeaker(1, "sql"), newSpeaker(2, "plot")
	a.own = append(b.own[:290:290], a.own[290:]...) // hard to tell apart
	for range 300 {
		tr.Add(true, Page{Text: []byte(a.page(60, 4))})
		tr.Add(false, Page{Text: []byte(b.page(60, 4))})
	}
	m, err := tr.Train(Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var like, all [4]float64
	for range 2000 {
		for i, s := range [...]*speaker{a, b} {
			bin := min(int(4*m.Score("", []byte(s.page(60, 4)))), 3)
			all[bin]++
			like[bin] += float64(1 - i)
		}
	}
	for bin := range all {
		if middle := (float64(bin) + 0.5) / 4; all[bin] > 100 &&
			math.Abs(like[bin]/all[bin]-middle) > 0.2 {
			t.Errorf("of %.0f pages with scores around %.2f, %.2f are on the topic", all[bin], middle,
				like[bin]/all[bin])
		}
	}
}

// A full set takes no more pages, and the other one still does.
func TestTrainerIsBounded(t *testing.T) {
	tr := NewTrainer()
	for i := range MaxPages {
		if got := tr.Add(false, Page{Text: fmt.Appendf(nil, "page w%x of many", i)}); got != Used {
			t.Fatalf("page %d: %d", i, got)
		}
	}
	if got := tr.Add(false, Page{Text: []byte("one more")}); got != Full ||
		tr.Dropped(false, Full) != 1 {
		t.Errorf("page %d: %d", MaxPages, got)
	}
	if got := tr.Add(true, Page{Text: []byte("of the topic")}); got != Used {
		t.Errorf("the first page of the topic: %d", got)
	}
}
