package readback

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// visits writes an archive with visits of one URL, an hour apart, and returns their places.
type visits struct {
	t    *testing.T
	dir  string
	a    *archive.Archive
	at   time.Time
	refs []crawl.ArchiveRef
}

const pageURL = "http://a.test/p"

func newVisits(t *testing.T) *visits {
	v := &visits{t: t, dir: t.TempDir(), at: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	var err error
	if v.a, err = archive.Open(filepath.Join(v.dir, "warc"), archive.Options{Node: "n"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.a.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// add stores an answer. original is the number of the visit that has its payload; -1: none is
// known.
func (v *visits) add(status int, text string, original int, known bool) {
	v.t.Helper()
	v.at = v.at.Add(time.Hour)
	c := crawl.Capture{
		FetchedAt:   v.at,
		Status:      status,
		ContentType: "text/html",
		RequestHead: []byte("GET /p HTTP/1.1\r\n\r\n"),
	}
	if err := c.URL.UnmarshalText([]byte(pageURL)); err != nil {
		v.t.Fatal(err)
	}
	packed := gzipped(v.t, text)
	switch c.ResponseHead, c.Body =
		[]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"), packed; {
	case status == 304:
		c.ResponseHead, c.Body = []byte("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n"), nil
		if known {
			c.Digest = sha1.Sum(packed)
		}
	default:
		c.Digest = sha1.Sum(packed)
	}
	if original >= 0 {
		c.Original = &crawl.Original{Record: v.refs[original].Record, URL: pageURL, FetchedAt: v.at}
	}
	ref, err := v.a.Put(v.t.Context(), c)
	if err != nil {
		v.t.Fatal(err)
	}
	v.refs = append(v.refs, ref)
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ExplainURL is that of a cluster in which the record of the URL names the first visit, which
// brought the content.
func (v *visits) ExplainURL(_ context.Context, url string, _ int) (*crawl.URLReport, error) {
	if u, err := urlnorm.Parse(url); err != nil || u.String() != pageURL {
		return nil, errors.New("unknown")
	}
	return &crawl.URLReport{Record: &crawl.RecordReport{
		Archive: &crawl.ArchiveReport{File: v.refs[0].File, Offset: v.refs[0].Offset},
	}}, nil
}

// Captures implements Node.
func (v *visits) Captures(_ context.Context, url string) (*crawl.CapturesReport, error) {
	r := &crawl.CapturesReport{URL: url}
	return r, archive.Entries(filepath.Join(v.dir, "warc"), func(e archive.Entry) error {
		c := crawl.CaptureReport{
			At:      e.At,
			Status:  e.Status,
			Revisit: e.Revisit,
			File:    e.Ref.File,
			Offset:  e.Ref.Offset,
			Length:  e.Ref.Length,
			Digest:  &e.Digest,
		}
		r.Captures = append(r.Captures, c)
		return nil
	})
}

// OpenCapture implements Node.
func (v *visits) OpenCapture(_ context.Context, file string, offset int64) (io.ReadCloser, error) {
	all, err := os.ReadFile(filepath.Join(v.dir, "warc", file+".open"))
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(all[offset:])), nil
}

// The page of a revisit is what it stands for: of a 304 the whole answer, with the header that its
// content codings need; of a page with the same payload its own header and that payload. A cluster
// and a data directory say the same.
func TestRevisitsReadBack(t *testing.T) {
	t.Parallel()
	v := newVisits(t)
	v.add(200, "the page", -1, true)
	v.add(304, "the page", 0, true)   // refers to the first
	v.add(304, "the page", -1, true)  // its capture is not known, its digest is
	v.add(304, "the page", -1, false) // neither is
	v.add(200, "the page", 0, true)   // the payload once more
	if err := v.a.Sync(); err != nil {
		t.Fatal(err)
	}
	folder := Folders{filepath.Join(v.dir, "warc")}
	for name, s := range map[string]Source{"cluster": Cluster{Node: v}, "folder": folder} {
		for i := range v.refs {
			record, err := folder.Record(t.Context(), v.refs[i])
			if err != nil {
				t.Fatal(err)
			}
			page, err := Of(t.Context(), s, record, MaxContent)
			if err != nil {
				t.Errorf("%s, visit %d: %v", name, i, err)
				continue
			}
			content, _, err := page.Content()
			if text, textErr := page.Text(); err != nil || string(content) != "the page" ||
				text != "the page" || textErr != nil || page.Record.TargetURI != pageURL ||
				page.Record.Status != 200 {
				t.Errorf("%s, visit %d: content %q, %v; text %q, %v; %+v", name, i, content, err, text, textErr,
					page.Record)
			}
		}
		if page, err := Load(t.Context(), s, pageURL, MaxContent); err != nil ||
			!bytes.HasSuffix(page.Raw(), gzipped(t, "the page")) {
			t.Errorf("%s: the newest capture: %v", name, err)
		}
	}
	v.add(200, "another page", -1, true)
	v.add(304, "another page", -1, false)
	if err := v.a.Sync(); err != nil {
		t.Fatal(err)
	}
	if page, err := Load(t.Context(), folder, pageURL, MaxContent); err != nil ||
		!bytes.HasSuffix(page.Raw(), gzipped(t, "another page")) {
		t.Errorf("a 304 after another version: %v", err)
	}
	// An earlier version is found although the newest capture has another payload.
	record, err := folder.Record(t.Context(), v.refs[4])
	if err != nil {
		t.Fatal(err)
	}
	v.refs[0] = v.refs[5]
	page, err := Of(t.Context(), Cluster{Node: v}, record, MaxContent)
	if err != nil || !bytes.HasSuffix(page.Raw(), gzipped(t, "the page")) {
		t.Errorf("the payload of an earlier version: %v", err)
	}
	record.PayloadDigest = "sha1:OTHER"
	if _, err := Of(t.Context(), Cluster{Node: v}, record, MaxContent); err == nil {
		t.Error("a payload that nobody has was found")
	}
}

// TestElsewhere: a revisit of a payload that another archive has says which one; with that archive
// beside it, it is read. A revisit of the crawl's own that is not there is another error.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	old, own := newVisits(t), newVisits(t)
	old.add(200, "the page", -1, true)
	own.refs = []crawl.ArchiveRef{{}} // of the other archive an index names no record
	own.add(200, "the page", 0, true)
	if err := errors.Join(old.a.Sync(), own.a.Sync()); err != nil {
		t.Fatal(err)
	}
	own.refs = own.refs[1:]
	at, before := Folders{filepath.Join(own.dir, "warc")}, Folders{filepath.Join(old.dir, "warc")}
	for name, s := range map[string]Source{"cluster": Cluster{Node: own}, "folder": at} {
		_, err := Load(t.Context(), s, pageURL, MaxContent)
		if !errors.Is(err, ErrElsewhere) ||
			!strings.Contains(err.Error(), pageURL+" of 2026-03-01T01:00:00.000Z") {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := Load(t.Context(), slices.Concat(at, before), pageURL, MaxContent)
	if err != nil || !bytes.HasSuffix(page.Raw(), gzipped(t, "the page")) {
		t.Errorf("with the other archive: %v", err)
	}
	other := newVisits(t)
	other.refs = []crawl.ArchiveRef{{Record: [16]byte{1}}}
	other.add(200, "the page", 0, true)
	if err := other.a.Sync(); err != nil {
		t.Fatal(err)
	}
	_, err = Load(t.Context(), Folders{filepath.Join(other.dir, "warc")}, pageURL, MaxContent)
	if err == nil || errors.Is(err, ErrElsewhere) || !errors.Is(err, archive.ErrNoCapture) {
		t.Errorf("of this crawl: %v", err)
	}
}

// Two folders are read as one: their indexes are merged, and the newest capture of a URL is that of
// either.
func TestFolders(t *testing.T) {
	t.Parallel()
	a, b := newVisits(t), newVisits(t)
	a.add(200, "one", -1, true)
	b.at = b.at.Add(time.Minute)
	b.add(200, "two", -1, true)
	if err := errors.Join(a.a.Sync(), b.a.Sync()); err != nil {
		t.Fatal(err)
	}
	f := Folders{filepath.Join(a.dir, "warc"), filepath.Join(b.dir, "warc")}
	page, err := Load(t.Context(), f, pageURL, MaxContent)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := page.Text(); text != "two" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	var index bytes.Buffer
	if err := f.WriteIndex(t.Context(), &index); err != nil ||
		bytes.Count(index.Bytes(), []byte("\n")) != 2 {
		t.Errorf("%s, %v", index.String(), err)
	}
	if _, err := f.Record(t.Context(), crawl.ArchiveRef{File: "none.warc.gz", Length: 1}); !errors.Is(
		err, archive.ErrNoCapture) {
		t.Errorf("a file that no folder has: %v", err)
	}
	if _, err := f.Capture(t.Context(), "http://b.test/"); !errors.Is(err, archive.ErrNoCapture) {
		t.Errorf("a URL that no folder has: %v", err)
	}
}
