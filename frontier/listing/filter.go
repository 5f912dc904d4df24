package listing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// states are the states of records, in the order of crawl.ListStates, whose last is none.
var states = [...]crawl.RecordState{crawl.Queued, crawl.Done, crawl.Failed, crawl.RefusedForever}

// stateName is the name of a record's state in a list.
func stateName(s crawl.RecordState) string {
	if i := slices.Index(states[:], s); i >= 0 {
		return crawl.ListStates[i]
	}
	return s.String()
}

// Filter says which URLs are wanted. The zero value wants all.
type Filter struct {
	host           crawl.Host        // "": of all hosts
	state          crawl.RecordState // 0: any
	lowest, beyond int               // statuses from lowest to below beyond; both 0: any
	contains       string            // in lower case
	match          *scope.Pattern
	changed        bool      // pages only that have changed since then
	since          time.Time // the zero time: ever
	referrer       bool      // lines have it
	broken         bool      // broken links only
}

// Compile reads the filters of a query. The error wraps crawl.ErrBadQuery.
func Compile(q crawl.URLQuery) (Filter, error) {
	var f Filter
	if q.State != "" {
		i := slices.Index(crawl.ListStates[:], q.State)
		f.broken = q.State == crawl.ListBroken || q.State == crawl.ListFailed && q.Referrer
		switch {
		case i < 0:
			return f, badQuery("state must be one of %s, not %.40q", strings.Join(crawl.ListStates[:], ", "),
				q.State)
		case !f.broken:
			f.state = states[i]
		}
	}
	f.changed, f.since, f.referrer = q.Changed || !q.Since.IsZero(), q.Since, q.Referrer
	if len(q.Host) > maxHost || len(q.Contains) > crawl.MaxURLFilter ||
		len(q.Match) > crawl.MaxURLFilter {
		return f, badQuery("host, contains and match may have at most %d, %d and %d bytes", maxHost,
			crawl.MaxURLFilter, crawl.MaxURLFilter)
	}
	if q.Host != "" {
		u, err := urlnorm.Parse("http://" + q.Host + "/")
		if err != nil || u.PathQuery() != "/" || u.Origin() != "http://"+u.Host() ||
			strings.ContainsAny(q.Host, "@?#") {
			return f, badQuery(
				"host must be a host name or an IP address, without scheme, port and path, not %.100q", q.Host)
		}
		f.host = layout.HostOf(u)
	}
	f.contains = strings.ToLower(q.Contains)
	if err := f.compileStatus(q.Status); err != nil {
		return f, err
	}
	if q.Match != "" {
		p, err := scope.ParsePattern(q.Match)
		if err != nil {
			return f, badQuery("match %.100q: %v", q.Match, err)
		}
		f.match = &p
	}
	return f, nil
}

func badQuery(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{crawl.ErrBadQuery}, args...)...)
}

// compileStatus reads 404 or 4xx.
func (f *Filter) compileStatus(text string) error {
	if text == "" {
		return nil
	}
	class, isClass := strings.CutSuffix(strings.ToLower(text), "xx")
	n, err := strconv.Atoi(class)
	switch {
	case err == nil && isClass && n >= 1 && n <= 9:
		f.lowest, f.beyond = n*100, n*100+100
	case err == nil && !isClass && n >= 100 && n <= 999:
		f.lowest, f.beyond = n, n+1
	default:
		return badQuery("status must be a number such as 404, or a class such as 4xx, not %.40q", text)
	}
	return nil
}

// Host is the only host that is wanted; "": all are.
func (f *Filter) Host() crawl.Host { return f.host }

// wantsInline reports whether URLs are wanted that were never tried.
func (f *Filter) wantsInline() bool {
	return (f.state == 0 || f.state == crawl.Queued) && f.beyond == 0 && !f.changed && !f.broken
}

// wantsRecord reports whether a record is wanted by what is known of its visits.
func (f *Filter) wantsRecord(rec *crawl.Record) bool {
	if f.changed && (rec.ChangedAt.IsZero() || rec.ChangedAt.Before(f.since)) {
		return false
	}
	return f.wantsStatus(rec.Status) && (!f.broken || isBroken(rec))
}

// isBroken reports whether a link to the URL leads nowhere: the URL was given up, or its answer is
// an error. Nothing links to a sitemap file that was guessed.
func isBroken(rec *crawl.Record) bool {
	switch {
	case rec.Via == crawl.ViaSitemapFile:
		return false
	case rec.State == crawl.Failed:
		return !strings.HasSuffix(rec.Reason, crawl.TriedInItsPlace)
	}
	return rec.State == crawl.Done && rec.Status >= 400
}

// wantsStatus reports whether URLs with this status are wanted.
func (f *Filter) wantsStatus(status int) bool {
	return f.beyond == 0 || status >= f.lowest && status < f.beyond
}

// wantsURL reports whether a canonical URL is wanted.
func (f *Filter) wantsURL(canonical string) (bool, error) {
	if f.contains != "" && !strings.Contains(strings.ToLower(canonical), f.contains) {
		return false, nil
	}
	if f.match == nil {
		return true, nil
	}
	u, err := urlnorm.ParseStored(canonical)
	if err != nil {
		return false, fmt.Errorf("%w: URL %q: %w", layout.ErrCorrupt, canonical, err)
	}
	return f.match.Matches(u), nil
}
