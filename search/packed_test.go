package search

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"crawlnode/crawl"
	"crawlnode/frontier/texts"
	"crawlnode/pipeline"
	"crawlnode/search/index"
	"crawlnode/web/urlnorm"
)

func packedDocument(text string) (d index.Document, packed []byte) {
	d = index.Document{
		URL:       "https://a.example/",
		Host:      "a.example",
		Title:     "A title",
		Text:      text,
		FetchedAt: time.UnixMilli(1e12).UTC(),
	}
	b := buffers{plain: index.AppendDocument(nil, &d)}
	return d, b.pack()
}

// Documents that this release and the first ones stored are read.
func TestPacked(t *testing.T) {
	var u unpacker
	for _, text := range []string{"", "A text.", strings.Repeat("A text of many words. ", 3000)} {
		want, packed := packedDocument(text)
		encoder, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		old := encoder.EncodeAll(index.AppendDocument(nil, &want), nil)
		for _, b := range [][]byte{packed, old} {
			got, err := u.document(b)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d bytes: %v; %+v, want %+v", len(b), err, got, want)
			}
		}
		if len(text) > 10_000 && len(packed) > len(text)/4 {
			t.Errorf("%d bytes of text take %d", len(text), len(packed))
		}
	}
}

// TestLongTexts: the text of a page is stored whole, up to what an index keeps of it; one that is
// too hard to compress for that is cut.
func TestLongTexts(t *testing.T) {
	u, err := urlnorm.Parse("https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const many = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for name, c := range map[string]struct {
		letters string // words are made of
		length  int    // of a word
		bytes   int
		kept    int
	}{
		"long":              {"etaoin", 5, 200_000, 200_000},
		"longer than that":  {"eta", 5, 1_200_000, index.MaxText},
		"very long":         {"eta", 5, 900_000, 900_000},
		"hard to compress":  {many, 60, 600_000, lessText},
		"short, but so too": {many, 60, 60_000, 60_000},
	} {
		var text strings.Builder
		for text.Len() < c.bytes-c.length {
			for range c.length {
				text.WriteByte(c.letters[r.IntN(len(c.letters))])
			}
			text.WriteByte(' ')
		}
		page := &pipeline.Indexed{
			Visit: &crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{URL: u}}}, Outcome: &crawl.Outcome{},
			Body: []byte("<title>t</title><p>" + text.String() + "the end"), ContentType: "text/html",
		}
		stored := new(Maker).Document(page)
		d, err := new(unpacker).document(stored)
		if err != nil || len(stored) > texts.MaxBytes {
			t.Errorf("%s: %d bytes are stored; %v", name, len(stored), err)
		}
		if n := len(d.Text); n > c.kept+10 || n < c.kept-100 {
			t.Errorf("%s: %d bytes of %d are kept, want %d", name, n, c.bytes, c.kept)
		}
		whole := strings.HasSuffix(d.Text, " the end")
		if whole != (c.kept == c.bytes) || whole == d.Cut {
			t.Errorf("%s: the end is there: %v, cut %v", name, whole, d.Cut)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	_, packed := packedDocument("A text.")
	f.Add(packed)
	f.Add([]byte{packedS2, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0})
	f.Add([]byte{packedZstd, 0xB5, 0x2F, 0xFD, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var u unpacker
		if _, err := u.document(bytes.Clone(b)); err == nil && len(u.buf) > maxDecoded {
			t.Errorf("%d bytes became %d", len(b), len(u.buf))
		}
	})
}

// The index rests so long that it takes an eighth of the processors, and one at the most.
func TestRest(t *testing.T) {
	for _, c := range []struct {
		took       time.Duration
		processors int
		want       time.Duration
	}{
		{time.Second, 1, 7 * time.Second},
		{time.Second, 2, 3 * time.Second},
		{time.Second, 4, time.Second},
		{time.Second, 8, 0},
		{time.Second, 64, 0},
		{time.Minute, 1, mostRest},
		{-time.Second, 2, 0},
	} {
		if got := rest(c.took, c.processors); got != c.want {
			t.Errorf("after %v on %d processors it rests for %v, want %v", c.took, c.processors, got, c.want)
		}
	}
}
