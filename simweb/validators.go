package simweb

import (
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// describe adds to the answer of a page what its host says of its changes.
func (w *Web) describe(a *answer, v *visit) {
	says := &w.hosts[v.host].says
	if tag := w.etag(v.page, says.etags, v.held); tag != "" {
		a.set("ETag", tag)
	}
	if date, ok := w.lastModified(says, v.held, v.start); ok {
		a.set("Last-Modified", date.UTC().Format(http.TimeFormat))
	}
	if says.ages == silent {
		return
	}
	age := 365 * 24 * time.Hour
	if says.ages == truthful {
		age = w.meanInterval(v.page, v.start) / 2
	}
	if says.second {
		a.set("Date", v.start.UTC().Format(http.TimeFormat))
		a.set("Expires", v.start.Add(age).UTC().Format(http.TimeFormat))
	} else {
		a.set("Cache-Control", "public, max-age="+strconv.Itoa(int(age/time.Second)))
	}
}

// etag is a page's entity tag, or "".
func (w *Web) etag(page uint32, of honesty, held version) string {
	switch of {
	case silent:
		return ""
	case lying:
		held = 0
	}
	tag := `"` + strconv.FormatUint(w.random(uint64(page)^mix(uint64(held)), saltETags), 36) + `"`
	if w.quirk(page, saltNoise, w.cfg.Changes.Noise) {
		return "W/" + tag // the same meaning, other bytes
	}
	return tag
}

// lastModified is the date that an answer at a time has.
func (w *Web) lastModified(says *promises, held version, at time.Time) (date time.Time, ok bool) {
	start := w.cfg.Changes.Start
	switch {
	case says.dates == silent:
		return date, false
	case says.dates == truthful:
		date = start.Add(held).Truncate(time.Second)
		return date, at.Truncate(time.Second).After(date)
	case says.second:
		return at.Truncate(time.Second), true
	}
	return start.Truncate(time.Second), true
}

// condition turns the answer of a page into a 304 where the request's validators say so, and notes
// for the judge what it saved.
func (w *Web) condition(a *answer, v *visit, r *http.Request) {
	matches, conditional := notModified(r, a)
	v.conditional, v.bytes = conditional, len(a.body)
	if matches {
		v.bytes, v.saved = 0, len(a.body)
		a.shorten()
	}
}

// conditionFile does the same for a sitemap. Its entity tag is that of its bytes, on hosts with
// true ones.
func (w *Web) conditionFile(a *answer, v *visit, r *http.Request) {
	if w.hosts[v.host].says.etags != truthful {
		return
	}
	a.set("ETag", `"`+strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 36)+`"`)
	if matches, _ := notModified(r, a); matches {
		a.shorten()
	}
}

// shorten makes the answer a 304, which has no payload and does not describe one (RFC 9110,
// 15.4.5).
func (a *answer) shorten() {
	a.status, a.body = http.StatusNotModified, nil
	a.header = slices.DeleteFunc(a.header,
		func(kv [2]string) bool { return strings.HasPrefix(kv[0], "Content-") })
}

// notModified evaluates the conditions of a request (RFC 9110, 13.2.2): If-Modified-Since counts
// only without If-None-Match. conditional says that there was one.
func notModified(r *http.Request, a *answer) (matches, conditional bool) {
	if tags := r.Header.Values("If-None-Match"); len(tags) > 0 {
		return tagMatches(strings.Join(tags, ","), a.get("ETag")), true
	}
	since := r.Header.Get("If-Modified-Since")
	if since == "" {
		return false, false
	}
	asked, err := http.ParseTime(since)
	date, dateErr := http.ParseTime(a.get("Last-Modified"))
	return err == nil && dateErr == nil && !date.After(asked), true
}

// tagMatches compares entity tags weakly. The tags of this web have no comma.
func tagMatches(list, tag string) bool {
	if tag == "" {
		return false
	}
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == "*" ||
			strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// lastmod is what a sitemap says of a page's last change; "" when it says nothing.
func (w *Web) lastmod(hostIndex int, page uint32, at time.Time) string {
	says := &w.hosts[hostIndex].says
	c := &w.cfg.Changes
	var date time.Time
	switch {
	case says.lastmods == silent:
		return ""
	case says.lastmods == truthful:
		date = c.Start.Add(w.lastChange(page, at.Sub(c.Start)))
	case says.second:
		date = at
	default: // as the next page of the host changes
		h := &w.hosts[hostIndex]
		date = c.Start.Add(w.lastChange(h.first+(page-h.first+1)%h.pages, at.Sub(c.Start)))
	}
	return date.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
