package dashboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
)

const (
	maxFormBytes = 1 << 20
	// maxFormSeeds bounds the URLs of one form; the command takes more.
	maxFormSeeds = 10_000
	// badLinesShown bounds how many invalid URLs are repeated.
	badLinesShown = 5
)

// order handles one form: it gives the order and redirects the client back to the form's page, with
// a message about the result.
func (d *Dashboard) order(
	w http.ResponseWriter,
	r *http.Request,
	give func(context.Context) (string, error),
) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		d.goBack(w, r, &message{Bad: true, Text: "The form could not be read: " + err.Error()})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	form := maps.Clone(r.PostForm)
	form.Del("back")
	crawl.NoteOf(ctx).Set("", form.Encode())
	text, err := give(ctx)
	if err != nil {
		crawl.NoteOf(ctx).Set("", form.Encode()+" refused: "+err.Error())
		d.goBack(w, r, &message{Bad: true, Text: err.Error()})
		return
	}
	d.goBack(w, r, &message{Text: text})
}

func (d *Dashboard) controlCrawl(w http.ResponseWriter, r *http.Request) {
	d.order(w, r, func(ctx context.Context) (string, error) {
		action := r.PostForm.Get("action")
		if !slices.Contains([]string{crawl.ActionPause, crawl.ActionResume, crawl.ActionStop}, action) {
			return "", fmt.Errorf("unknown action %.40q", action)
		}
		if asker := crawl.CallerOf(ctx); action == crawl.ActionStop && asker.Role < crawl.RoleAdmin {
			return "", fmt.Errorf("stop: %w: it needs the role %s, and this token has the role %s",
				crawl.ErrForbidden, crawl.RoleAdmin, asker.Role)
		}
		report, err := d.backend.ControlCrawl(ctx, action)
		if err != nil {
			return "", fmt.Errorf("%s: %w", action, err)
		}
		text := "The crawl is " + report.State + "."
		if len(report.Untold) > 0 {
			text += " These nodes did not answer; they will follow once they can be reached: " +
				strings.Join(report.Untold, ", ") + "."
		}
		return text, nil
	})
}

func (d *Dashboard) controlSeeds(w http.ResponseWriter, r *http.Request) {
	d.order(w, r, func(ctx context.Context) (string, error) {
		seeds, err := seedsOf(r.PostForm)
		if err != nil {
			return "", err
		}
		text, _, err := d.addSeeds(ctx, seeds)
		return text, err
	})
}

// seedsOf reads the seeds of a form.
func seedsOf(form url.Values) ([]crawl.Seed, error) {
	seeds := seedLines(form.Get("urls"), form.Get("again") != "")
	switch {
	case len(seeds) == 0:
		return nil, errors.New("no URL was given: write one per line")
	case len(seeds) > maxFormSeeds:
		return nil, fmt.Errorf("more than %d URLs: send them with crawlnode seeds add -f FILE",
			maxFormSeeds)
	}
	return seeds, nil
}

// addSeeds adds seeds and says in a sentence what became of them; some: at least one is a URL that
// is crawled.
func (d *Dashboard) addSeeds(
	ctx context.Context,
	seeds []crawl.Seed,
) (text string, some bool, err error) {
	report, err := d.backend.AddSeeds(ctx, seeds)
	if err != nil {
		return "", false, fmt.Errorf("not all seeds were stored; it is safe to send them again: %w", err)
	}
	text = fmt.Sprintf("Seeds: %d accepted, %d duplicate, %d out of scope, %d invalid.",
		report.Accepted, report.Duplicates, report.OutOfScope, len(report.Invalid))
	for _, bad := range report.Invalid[:min(len(report.Invalid), badLinesShown)] {
		text += fmt.Sprintf("\nLine %d, %.200s: %s", bad.Line, bad.Input, bad.Error)
	}
	return text, report.Accepted+report.Duplicates > 0, nil
}

// seedLines reads one URL a line, as in files of seeds: empty lines and those that begin with # are
// skipped, but counted.
func seedLines(text string, again bool) []crawl.Seed {
	var seeds []crawl.Seed
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			seeds = append(seeds, crawl.Seed{URL: line, Line: n, Again: again})
		}
	}
	return seeds
}

func (d *Dashboard) controlNodes(w http.ResponseWriter, r *http.Request) {
	d.order(w, r, func(ctx context.Context) (string, error) {
		id := r.PostForm.Get("node")
		give, done := d.backend.DrainMember, "%s is handing over its partitions and will leave."
		switch order := r.PostForm.Get("order"); order {
		case "drain":
		case "forget":
			give, done = d.backend.ForgetMember, "%s is removed: data that only it had is lost."
		default:
			return "", fmt.Errorf("unknown order %.40q", order)
		}
		if err := give(ctx, crawl.NodeID(id)); err != nil {
			return "", fmt.Errorf("%s %.80s: %w", r.PostForm.Get("order"), id, err)
		}
		return fmt.Sprintf(done, d.nameOf(ctx, id)), nil
	})
}

// nameOf is a node's human name, or its id.
func (d *Dashboard) nameOf(ctx context.Context, id string) string {
	if st, err := d.backend.Status(ctx, false); err == nil {
		for i := range st.Nodes {
			if string(st.Nodes[i].ID) == id {
				return st.Nodes[i].Name
			}
		}
	}
	return id
}

// controlTheme stores the client's theme in a cookie; it does not change the crawl.
func (d *Dashboard) controlTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	c := http.Cookie{
		Name:     themeCookie,
		Value:    r.PostFormValue("theme"),
		Path:     "/",
		MaxAge:   365 * 24 * 3600,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(w, &c)
	d.goBack(w, r, nil)
}

// goBack redirects the client to the page that the form names, with a message.
func (d *Dashboard) goBack(w http.ResponseWriter, r *http.Request, m *message) {
	d.redirect(w, r, ownPath(r.PostFormValue("back")), m)
}

// goTo redirects the client to a page with a message.
func (d *Dashboard) goTo(w http.ResponseWriter, r *http.Request, path string, m message) {
	d.redirect(w, r, &url.URL{Path: path}, &m)
}

func (d *Dashboard) redirect(w http.ResponseWriter, r *http.Request, u *url.URL, m *message) {
	if m != nil {
		q := u.Query()
		q.Set("m", d.messages.put(*m))
		u.RawQuery = q.Encode()
	}
	http.Redirect(w, r, u.RequestURI(), http.StatusSeeOther)
}

// ownPath parses a path of this node; anything that could lead to another site becomes /.
func ownPath(raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(raw, "//") || strings.Contains(raw, `\`) || strings.HasPrefix(u.Path, "//") {
		return &url.URL{Path: "/"}
	}
	return &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
}

// message is the result of an order.
type message struct {
	Bad  bool
	Text string // plain; lines become lines
}

const (
	messagesKept = 32
	messageFor   = 2 * time.Minute
)

// messages are stored here under a random id, so that a link from elsewhere cannot put text into a
// page.
type messages struct {
	mu   sync.Mutex // guards kept
	kept []keptMessage
}

type keptMessage struct {
	id  string
	at  time.Time
	msg message
}

func (m *messages) put(msg message) string {
	k := keptMessage{id: rand.Text(), at: time.Now(), msg: msg}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) == messagesKept {
		m.kept = slices.Delete(m.kept, 0, 1)
	}
	m.kept = append(m.kept, k)
	return k.id
}

// get returns a message, or nil when it is unknown or old.
func (m *messages) get(id string) *message {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.kept {
		if k := &m.kept[i]; k.id == id && time.Since(k.at) < messageFor {
			msg := k.msg
			return &msg
		}
	}
	return nil
}
