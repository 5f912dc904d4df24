package integration

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"crawlnode/output/archive"
)

// wordCount says how two texts differ.
type wordCount struct{ words, missing, more int }

func (w wordCount) equal() float64 {
	return 100 * float64(w.words-max(w.missing, w.more)) / float64(max(w.words, 1))
}

func (w wordCount) String() string {
	return fmt.Sprintf("%d | %d | %.2f", w.missing, w.more, w.equal())
}

// add counts the words of want, each as often as it is there, that got has not or has more often.
func (w *wordCount) add(want, got string) {
	left := map[string]int{}
	for _, word := range strings.Fields(got) {
		left[word]++
	}
	for _, word := range strings.Fields(want) {
		w.words++
		if left[word]--; left[word] < 0 {
			w.missing++
		}
	}
	for _, times := range left {
		w.more += max(times, 0)
	}
}

// archivedShown reads the texts that a node has derived, and the pages as they were shown.
func archivedShown(t *testing.T, n *node) (doms map[string][]byte, texts map[string]string) {
	t.Helper()
	doms, texts = map[string][]byte{}, map[string]string{}
	archived, err := archive.Files(filepath.Join(n.dir, "warc"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(archived, derivedFiles(t, n, "text")...) {
		if _, err := archive.Scan(path, func(r archive.Record) error {
			switch r.Type {
			case "resource":
				doms[r.TargetURI] = append([]byte(nil), r.Payload...)
			case "conversion":
				texts[r.TargetURI] = string(r.Payload)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	return doms, texts
}

// compare compares some pages with what Chromium shows of them when it reads the site itself: 99
// words in a hundred are the same.
func (a *realApplication) compare(t *testing.T, f *applicationFigures) {
	t.Helper()
	b := openTab(t)
	picked := rand.New(rand.NewPCG(7, 7)).Perm(a.pages)
	picked = picked[:min(textPages, len(picked))]
	for _, i := range picked {
		u := a.url(i)
		b.do(chromedp.Navigate("about:blank")) // a route alone would be no new page
		b.open(u)
		want := b.wholeText(fmt.Sprintf("the end of p%d", i))
		var text, record wordCount
		text.add(want, f.texts[u])
		a.mu.Lock()
		a.shown = append(a.shown, f.doms[u])
		again := fmt.Sprintf("%s/archived-%d", a.URL, len(a.shown)-1)
		a.mu.Unlock()
		b.open(again)
		record.add(want, b.wholeText(fmt.Sprintf("the end of p%d", i)))
		if text.equal() < 99 || record.equal() < 99 {
			t.Errorf("%s: text %v, record %v\nwant %q\ngot  %q", u, text, record, want, f.texts[u])
		}
		f.compared++
		f.text.words, f.text.missing, f.text.more = f.text.words+text.words, f.text.missing+text.missing,
			f.text.more+text.more
		f.record.words, f.record.missing, f.record.more = f.record.words+record.words,
			f.record.missing+record.missing, f.record.more+record.more
	}
}

// wholeText scrolls down until the text of the page ends with end and stays as it is, and returns
// it.
func (b *tab) wholeText(end string) (text string) {
	b.t.Helper()
	until(b.t, browserTime, func() string {
		before := text
		b.js(`(window.scrollTo(0, document.documentElement.scrollHeight), document.body.innerText)`,
			&text)
		if before != text || !strings.Contains(text, end) {
			time.Sleep(300 * time.Millisecond)
			return fmt.Sprintf("%.300q", text)
		}
		return ""
	})
	return text
}
