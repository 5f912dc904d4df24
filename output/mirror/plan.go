package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/newest"
	"crawlnode/web/urlnorm"
)

// row is what a run knows of one URL.
type row struct {
	URL     string
	At      int64 // Unix seconds
	MIME    string
	Revisit bool `json:",omitempty"`
	Status  int
	Digest  string
	Said    string `json:",omitempty"` // Entry.Preferences, of a later 304 if there is one
	SaidAt  int64  `json:",omitempty"` // when that was said
	Ref     crawl.ArchiveRef

	// Decided once all captures are known.
	Path string `json:",omitempty"` // the file; "" when it has none
	To   string `json:",omitempty"` // where it redirects to
	Why  string `json:",omitempty"` // why a page has no file
	None bool   `json:",omitempty"` // it is not of the Form that is written
	Kept bool   `json:",omitempty"` // an earlier run has saved it, and there is no capture now
}

// saves reports whether the URL is to have a file.
func (r *row) saves() bool {
	return r.Status >= 200 && r.Status < 300 && r.Status != http.StatusNoContent &&
		r.Status != http.StatusResetContent && r.Why == "" && !r.None
}

// passing reports whether an answer says nothing of the page: it is asked for less, it failed, or
// nothing has changed.
func passing(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusNotModified || status >= 500 ||
		status < 200
}

// replaces reports whether a capture counts instead of another one of the same URL.
func (r *row) replaces(other *row) bool {
	if passing(r.Status) != passing(other.Status) {
		return passing(other.Status)
	}
	if r.At != other.At {
		return r.At > other.At
	}
	if r.Ref.File != other.Ref.File {
		return r.Ref.File > other.Ref.File
	}
	return r.Ref.Offset >= other.Ref.Offset
}

// redirects reports whether a status has a Location that is followed.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// The kinds of keys in the table, and the values of a path.
const (
	takenURL = 'u' // its row in taken
	payload  = 'd' // the row in taken whose record has a payload of this digest
	finalURL = 'f' // its row in final
	claimed  = 'p' // a path that is used: isFile or isFolder

	isFile, isFolder = 1, 2
)

// plan is what a run will write.
type plan struct {
	src      Source
	skip     func(url, said string) bool // nil: none
	form     *Form                       // nil: files are what was fetched
	manifest *manifest
	known    *table
	taken    *journal // a row for each capture; the table has the one that counts
	decided  *journal // the same in the same order, one for each URL, with To and Why
	final    *journal // with Path, and those that are kept
	rows     int64    // in final
	hash     [sha256.Size]byte
}

// take takes a capture.
func (p *plan) take(e archive.Entry) error {
	r := row{
		URL:     e.URL,
		At:      e.At.Unix(),
		MIME:    e.MIME,
		Revisit: e.Revisit,
		Status:  e.Status,
		Digest:  e.Digest,
		Said:    e.Preferences,
		SaidAt:  e.At.Unix(),
		Ref:     e.Ref,
	}
	offset, ok, err := p.known.get(keyOf(takenURL, r.URL))
	if err != nil {
		return err
	}
	var other row
	if ok {
		if err := p.taken.at(offset, &other); err != nil {
			return err
		}
	}
	hasPayload := !r.Revisit && r.Digest != "" && r.Status != http.StatusNotModified
	counts := !ok || r.replaces(&other)
	switch { // captures come in any order
	case !ok:
	case counts && other.Status == http.StatusNotModified && other.Said != "" &&
		other.SaidAt >= r.SaidAt:
		r.Said, r.SaidAt = other.Said, other.SaidAt
	case !counts && r.Status == http.StatusNotModified && r.Said != "" && r.SaidAt >= other.SaidAt &&
		r.Said != other.Said:
		other.Said, other.SaidAt = r.Said, r.SaidAt
		counts, r = true, other
	}
	if !counts && !hasPayload {
		return nil
	}
	if offset, err = p.taken.add(&r); err != nil {
		return err
	}
	if hasPayload {
		if _, ok, err := p.known.get(keyOf(payload, r.Digest)); err != nil {
			return err
		} else if !ok {
			if err := p.known.set(keyOf(payload, r.Digest), offset); err != nil {
				return err
			}
		}
	}
	if !counts {
		return nil
	}
	return p.known.set(keyOf(takenURL, r.URL), offset)
}

// decide says of each URL what it is, and claims the folders of those that get a file.
func (p *plan) decide(ctx context.Context) error {
	return eachRow(ctx, p.taken, func(offset int64, r *row) error {
		if counts, ok, err := p.known.get(keyOf(takenURL, r.URL)); err != nil || !ok || counts != offset {
			return err
		}
		if p.skip != nil && p.skip(r.URL, r.Said) {
			return nil
		}
		u, err := urlnorm.ParseStored(r.URL)
		if err != nil {
			r.Why = err.Error()
		} else if u.Route() != "" {
			r.Why = "the page without its fragment shows it"
		} else if err := p.look(ctx, u, r); err != nil {
			return err
		}
		if p.form != nil &&
			!newest.MayHaveText(&archive.Entry{Status: r.Status, MIME: r.MIME, Revisit: r.Revisit}) {
			r.None = true
		}
		if r.saves() {
			if _, err := p.folders(placeOf(u, p.media(r))); err != nil {
				return err
			}
		}
		_, err = p.decided.add(r)
		return err
	})
}

// media is the media type of the file of a URL.
func (p *plan) media(r *row) string {
	if p.form != nil {
		return p.form.Media
	}
	return r.MIME
}

// look reads the record of what the index does not say enough of. A record that cannot be read is
// no reason to stop.
func (p *plan) look(ctx context.Context, u urlnorm.URL, r *row) error {
	original := crawl.ArchiveRef{}
	if r.Revisit {
		ref, ok, err := p.payloadOf(r)
		if err != nil {
			return err
		}
		if !ok {
			r.Why = "its content was stored with another capture, in an archive that was not read"
		}
		original = ref
	}
	if !redirects(r.Status) && (r.MIME != "" || !r.saves()) {
		return nil
	}
	page, err := load(ctx, p.src, r.Ref, original, sniffed)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.Why = err.Error()
	case redirects(r.Status):
		if to, err := u.ResolveBytes(page.Header("Location")); err == nil &&
			page.Header("Location") != "" {
			r.To = to.String()
		}
	default:
		r.MIME = page.MediaType()
	}
	return nil
}

// sniffed is how much of a payload is unpacked to see what it is: http.DetectContentType looks at
// 512 bytes.
const sniffed = 512

// payloadOf finds the record that has the payload of a revisit.
func (p *plan) payloadOf(r *row) (ref crawl.ArchiveRef, ok bool, err error) {
	offset, ok, err := p.known.get(keyOf(payload, r.Digest))
	if err != nil || !ok {
		return ref, false, err
	}
	var original row
	err = p.taken.at(offset, &original)
	return original.Ref, true, err
}

// name gives each URL its file, and makes the hash of the plan.
func (p *plan) name(ctx context.Context) error {
	if err := eachRow(ctx, p.decided, func(_ int64, r *row) error {
		if r.saves() {
			if err := p.nameOf(r); err != nil {
				return err
			}
		}
		return p.finish(r)
	}); err != nil {
		return err
	}
	// What an earlier run has saved, and these captures do not have, stays.
	return p.manifest.each(ctx, func(l *Line) error {
		if _, ok, err := p.known.get(keyOf(finalURL, l.URL)); err != nil || ok {
			return err
		}
		return p.finish(&row{URL: l.URL, Path: l.File, To: l.RedirectTo, Kept: true})
	})
}

// finish takes a row that is complete.
func (p *plan) finish(r *row) error {
	if r.Path != "" || r.To != "" {
		for i, b := range sha256.Sum256([]byte(r.URL + "\x00" + r.Path + "\x00" + r.To)) {
			p.hash[i] ^= b // the order does not matter
		}
	}
	offset, err := p.final.add(r)
	if err != nil {
		return err
	}
	p.rows++
	return p.known.set(keyOf(finalURL, r.URL), offset)
}

// id is the name of the plan.
func (p *plan) id() string { return hex.EncodeToString(p.hash[:6]) }

// nameOf gives a URL the name of an earlier run, if that fits, or a free one.
func (p *plan) nameOf(r *row) error {
	u, err := urlnorm.ParseStored(r.URL)
	if err != nil {
		return err
	}
	at := placeOf(u, p.media(r))
	old, ok, err := p.manifest.of(r.URL)
	if err != nil {
		return err
	}
	if ok && old.File != "" && path.Ext(old.File) == path.Ext(at.file("")) {
		r.Path = old.File
		return nil
	}
	if at, err = p.folders(at); err != nil {
		return err
	}
	for try := 0; ; try++ {
		file := at.file(suffix(try, r.URL))
		if _, taken, err := p.known.get(keyOf(claimed, fold(file))); err != nil {
			return err
		} else if !taken {
			r.Path = file
			return p.known.set(keyOf(claimed, fold(file)), isFile)
		}
	}
}

// suffix distinguishes a name from others that are alike.
func suffix(try int, text string) string {
	if try == 0 {
		return ""
	}
	return "~" + hashOf(text+string(rune('0'+try)))
}

// folders claims the folders of a place, with other names where a file stands in the way.
func (p *plan) folders(at place) (place, error) {
	parent, out := "", make([]string, 0, len(at.folders))
	for _, name := range at.folders {
		for try := 0; ; try++ {
			folder := path.Join(parent, name+suffix(try, parent+"/"+name))
			value, ok, err := p.known.get(keyOf(claimed, fold(folder)))
			if err != nil {
				return at, err
			}
			if ok && value == isFile {
				continue
			}
			if !ok {
				if err := p.known.set(keyOf(claimed, fold(folder)), isFolder); err != nil {
					return at, err
				}
			}
			parent, out = folder, append(out, path.Base(folder))
			break
		}
	}
	at.folders = out
	return at, nil
}

// claim takes a path that an earlier run has used.
func (p *plan) claim(file string) error {
	for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
		if err := p.known.set(keyOf(claimed, fold(folder)), isFolder); err != nil {
			return err
		}
	}
	return p.known.set(keyOf(claimed, fold(file)), isFile)
}
