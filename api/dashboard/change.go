package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"crawlnode/crawl"
)

// This file shows the form of the settings and the one that starts a crawl, and takes them. A form
// that was refused is shown again with what was written, and the reason beside each field.

// formData is the input of both pages.
type formData struct {
	*settingsForm
	URLs  string // seeds, one a line
	Again bool
	State string // of the crawl
}

func (d *Dashboard) settings(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	report, err := d.backend.CrawlConfig(ctx)
	if err != nil {
		d.fail(w, r, st, "/settings", err)
		return
	}
	d.show(w, r, http.StatusOK, "settings", page{
		Title:  "Settings",
		Nav:    "/settings",
		Status: st,
		Data:   formData{settingsForm: newSettingsForm(&report)},
	})
}

func (d *Dashboard) start(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	report, err := d.backend.CrawlConfig(ctx)
	if err != nil {
		d.fail(w, r, st, "/", err)
		return
	}
	d.show(w, r, http.StatusOK, "start", page{
		Title:  "Start a crawl",
		Nav:    "/",
		Status: st,
		Data:   formData{settingsForm: newSettingsForm(&report).only(startNames), State: st.Crawl.State},
	})
}

// sentForm is a form that was sent.
type sentForm struct {
	w      http.ResponseWriter
	r      *http.Request
	name   string // of the page that shows it again
	title  string
	path   string
	data   formData
	report crawl.CrawlReport
}

// readForm reads a form and the settings of now. When that fails it has answered, and ok is false.
func (d *Dashboard) readForm(
	w http.ResponseWriter,
	r *http.Request,
) (report crawl.CrawlReport, ok bool) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		d.goBack(w, r, &message{Bad: true, Text: "The form could not be read: " + err.Error()})
		return report, false
	}
	report, err := d.backend.CrawlConfig(r.Context())
	if err != nil {
		d.fail(w, r, nil, "/settings", err)
		return report, false
	}
	return report, true
}

// again shows a refused form again.
func (d *Dashboard) again(ctx context.Context, f *sentForm, code int, text string) {
	st, err := d.backend.Status(ctx, false)
	if err != nil {
		st = nil // the page has no figures of it
	}
	if st != nil {
		f.data.State = st.Crawl.State
	}
	nav := "/settings"
	if f.name == "start" {
		nav = "/"
	}
	d.show(f.w, f.r, code, f.name, page{
		Title:   f.title,
		Nav:     nav,
		Back:    f.path,
		Status:  st,
		Message: &message{Bad: true, Text: text},
		Data:    f.data,
	})
}

// controlSettings changes what differs from the settings of now.
func (d *Dashboard) controlSettings(w http.ResponseWriter, r *http.Request) {
	report, ok := d.readForm(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	f := &sentForm{w: w, r: r, name: "settings", title: "Settings", path: "/settings", data: formData{
		settingsForm: newSettingsForm(&report),
	}, report: report}
	changed, code, err := d.change(ctx, f, r.PostForm)
	switch {
	case err != nil:
		d.again(ctx, f, code, err.Error())
	case changed == "":
		d.goTo(w, r, "/settings", message{Text: "Nothing was changed: every value is as it was."})
	default:
		d.goTo(w, r, "/settings", message{Text: changed})
	}
}

// change changes the settings that a form has other values of. It returns what it did in a
// sentence, "" when nothing differs, and with an error the status of the answer.
func (d *Dashboard) change(
	ctx context.Context,
	f *sentForm,
	sent url.Values,
) (text string, code int, err error) {
	changes, old := f.data.take(sent)
	if len(changes) == 0 {
		return "", 0, nil
	}
	note(ctx, old, changes)
	if asker := crawl.CallerOf(ctx); asker.Role < crawl.RoleAdmin {
		return "", http.StatusForbidden, fmt.Errorf(
			"changing settings: %w: it needs the role %s, and this token has the role %s",
			crawl.ErrForbidden, crawl.RoleAdmin, asker.Role)
	}
	after, err := d.backend.ChangeCrawl(ctx,
		crawl.CrawlChange{Version: sent.Get("version"), Settings: changes})
	if wrong := (*crawl.FieldErrors)(nil); errors.As(err, &wrong) {
		f.data.blame(wrong)
		code := http.StatusBadRequest
		if wrong.Fixed {
			code = http.StatusConflict
		}
		return "", code, fmt.Errorf("nothing was changed: %s", refusals(len(wrong.Fields)))
	}
	switch {
	case errors.Is(err, crawl.ErrChanged):
		f.data.Version = f.report.Version // the next attempt is made on top of the other change
		return "", http.StatusPreconditionFailed, errors.New("nothing was changed: " +
			"the settings have changed since this page was loaded; check the values and save again")
	case errors.Is(err, crawl.ErrForbidden):
		return "", http.StatusForbidden, err
	case err != nil:
		return "", http.StatusServiceUnavailable, err
	}
	text = "Changed on all nodes: " + strings.Join(namesOf(changes), ", ") + "."
	if len(after.Untold) > 0 {
		text += " These nodes did not answer; they will follow once they can be reached: " +
			strings.Join(after.Untold, ", ") + "."
	}
	return text, 0, nil
}

func refusals(n int) string {
	if n == 1 {
		return "one value was refused; the reason stands beside it"
	}
	return fmt.Sprintf("%d values were refused; the reason stands beside each", n)
}

// namesOf lists the names of settings as on the command line, sorted.
func namesOf(changes map[string]json.RawMessage) []string {
	var names []string
	for name := range changes {
		names = append(names, strings.ReplaceAll(name, "_", "-"))
	}
	return choices(names)
}

// note writes the old and the new values into the audit log.
func note(ctx context.Context, old, changes map[string]json.RawMessage) {
	before, err := json.Marshal(old)
	if err != nil {
		return // they are JSON, so this cannot happen
	}
	asked, err := json.Marshal(changes)
	if err != nil {
		return
	}
	crawl.NoteOf(ctx).Set(string(before), string(asked))
}

// controlStart changes the named settings and then adds the seeds: an idle or finished crawl runs.
func (d *Dashboard) controlStart(w http.ResponseWriter, r *http.Request) {
	report, ok := d.readForm(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	f := &sentForm{w: w, r: r, name: "start", title: "Start a crawl", path: "/start", report: report,
		data: formData{
			settingsForm: newSettingsForm(&report).only(startNames),
			URLs:         r.PostForm.Get("urls"),
			Again:        r.PostForm.Get("again") != "",
		}}
	seeds, err := seedsOf(r.PostForm)
	if err != nil {
		d.again(ctx, f, http.StatusBadRequest, err.Error())
		return
	}
	changed, code, err := d.change(ctx, f, r.PostForm)
	if err != nil {
		d.again(ctx, f, code, err.Error())
		return
	}
	if changed == "" {
		crawl.NoteOf(ctx).Set("", url.Values{"urls": r.PostForm["urls"]}.Encode())
	}
	text, some, err := d.addSeeds(ctx, seeds)
	switch {
	case err != nil:
		d.again(ctx, f, http.StatusServiceUnavailable, strings.TrimSpace(changed+" "+err.Error()))
	case !some:
		d.again(ctx, f, http.StatusBadRequest,
			strings.TrimSpace(changed+" Nothing was started: no seed was accepted. "+text))
	default:
		d.goTo(w, r, "/", message{Text: strings.TrimSpace(text + "\n" + changed)})
	}
}
