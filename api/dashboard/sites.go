package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"crawlnode/api/siterules"
	"crawlnode/config"
	"crawlnode/crawl"
)

// This file shows the rules for sites and takes changes of them: of the whole text, or of one rule
// by a form, which leaves the rest of the text as it was written.

const (
	// maxSitesText is the longest text that the page shows; the command takes more.
	maxSitesText = 1 << 20
	// maxSitesForm bounds a form with it: a character takes up to three.
	maxSitesForm = 3*maxSitesText + 64<<10
	// rulesShown is how many rules are listed.
	rulesShown = 100
	// matchesShown and shownChars bound what is listed of a rule.
	matchesShown = 5
	shownChars   = 120
	// maxRuleForm is the longest list of patterns that a form takes.
	maxRuleForm = 64 << 10
	// newRule is the number of a rule that the form adds.
	newRule = -1
)

// sitesData is the input of the page.
type sitesData struct {
	Text     string // in the area: as it is set, or as it was written when it was refused
	Tag      string // of the rules that are set
	Long     bool   // the text is too long for the page
	Problems []sitesProblem
	TryURL   string // to try the text of the area on

	Rules    []siterules.Rule
	Total    int
	Matching int    // how many of Total contain Contains
	Contains string // in a match
	Unlisted string // why no rules can be listed

	Form     siterules.Form
	Number   int      // of the rule in the form; newRule: none yet
	Line     int      // where it begins
	Refused  []string // why the form was refused
	URL      string   // that the rules are tested with
	Report   *siteReport
	Untested string // why it was not tested
}

// AuthWords, CookieWords and RenderWords are the choices of the form.
func (*sitesData) AuthWords() []string   { return []string{"basic", "bearer", "none"} }
func (*sitesData) CookieWords() []string { return wordsOf("cookies") }
func (*sitesData) RenderWords() []string { return wordsOf("render") }

// wordsOf are the possible values of a setting of the crawl.
func wordsOf(name string) []string {
	for _, r := range config.ReportedSettings() {
		if r.Name == name {
			return r.Words
		}
	}
	return nil
}

// sitesProblem is what is wrong with a text, with the line.
type sitesProblem struct {
	Line    int    // 0: the whole text
	Excerpt string // the line as it is written
	Text    string
}

// siteReport is what holds for a URL.
type siteReport struct {
	crawl.SiteReport
	Own    []crawl.SiteValue // that rules give
	Common []crawl.SiteValue // of the crawl
	Tried  bool              // by the text of the area, which is not set
}

func newSiteReport(r crawl.SiteReport, tried bool) *siteReport {
	report := &siteReport{SiteReport: r, Tried: tried}
	for _, v := range r.Values {
		if v.Line != nil {
			report.Own = append(report.Own, v)
		} else {
			report.Common = append(report.Common, v)
		}
	}
	return report
}

// newSitesData reads the rules.
func (d *Dashboard) newSitesData(ctx context.Context, contains string) (*sitesData, error) {
	text, _, err := d.backend.Sites(ctx)
	if err != nil {
		return nil, err
	}
	data := &sitesData{Text: text, Tag: crawl.SitesTag(text), Number: newRule, Contains: contains}
	if data.Long = len(text) > maxSitesText; data.Long {
		data.Text = ""
	}
	all, err := siterules.Read(text)
	if err != nil {
		data.Unlisted = err.Error()
		return data, nil
	}
	data.Total = all.Len()
	for i := range data.Total {
		r := all.Rule(i)
		if contains != "" && !slices.ContainsFunc(r.Match, func(m string) bool {
			return strings.Contains(m, contains)
		}) {
			continue
		}
		if data.Matching++; data.Matching <= rulesShown {
			data.Rules = append(data.Rules, shortRule(r))
		}
	}
	return data, nil
}

// shortRule is a rule for the list.
func shortRule(r siterules.Rule) siterules.Rule {
	more := len(r.Match) - matchesShown
	r.Match = r.Match[:min(len(r.Match), matchesShown)]
	for i, m := range r.Match {
		r.Match[i] = cutText(m, shownChars)
	}
	if more > 0 {
		r.Match = append(r.Match, fmt.Sprintf("and %s more", count(more)))
	}
	for i := range r.Others {
		r.Others[i].Text = cutText(r.Others[i].Text, shownChars)
	}
	return r
}

// sites shows the rules, the form of one of them, and what they make of a URL.
func (d *Dashboard) sites(ctx context.Context, w http.ResponseWriter, r *http.Request,
	st *crawl.Status) {
	query := r.URL.Query()
	data, err := d.newSitesData(ctx, strings.TrimSpace(query.Get("contains")))
	if err != nil {
		d.fail(w, r, st, "/sites", err)
		return
	}
	if text := query.Get("rule"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			d.openRule(ctx, data, n)
		}
	}
	d.testURL(ctx, w, r, st, data)
}

// testURL tells what the rules make of the URL in the query, if there is one, and shows the page.
func (d *Dashboard) testURL(ctx context.Context, w http.ResponseWriter, r *http.Request,
	st *crawl.Status, data *sitesData) {
	code := http.StatusOK
	if data.URL = strings.TrimSpace(r.URL.Query().Get("url")); len(data.URL) > maxQuestion {
		data.URL, data.Untested, code = "", "The URL is too long.", http.StatusBadRequest
	}
	if data.URL != "" {
		report, err := d.backend.TestSites(ctx, data.URL, nil)
		if err != nil {
			data.Untested, code = err.Error(), http.StatusBadRequest
		} else {
			data.Report = newSiteReport(report, false)
		}
	}
	d.showSites(w, r, code, st, data, nil)
}

// openRule puts a rule into the form.
func (d *Dashboard) openRule(ctx context.Context, data *sitesData, number int) {
	text, _, err := d.backend.Sites(ctx)
	if err != nil || crawl.SitesTag(text) != data.Tag {
		return
	}
	if all, err := siterules.Read(text); err == nil && number >= 0 && number < all.Len() {
		r := all.Rule(number)
		if len(r.Form.Match) > maxRuleForm {
			data.Refused = []string{fmt.Sprintf("The rule of line %d has too many patterns for "+
				"the form: change it in the text.", r.Line)}
			return
		}
		data.Form, data.Number, data.Line = r.Form, number, r.Line
	}
}

func (d *Dashboard) showSites(w http.ResponseWriter, r *http.Request, code int, st *crawl.Status,
	data *sitesData, m *message) {
	p := page{Title: "Rules for sites", Nav: "/sites", Status: st, Message: m, Data: data}
	if r.Method != http.MethodGet {
		p.Back = "/sites"
	}
	d.show(w, r, code, "sites", p)
}

// controlSites takes a text, or a change of one rule.
func (d *Dashboard) controlSites(w http.ResponseWriter, r *http.Request) {
	if !d.readSites(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	sent := r.PostForm
	var report crawl.CrawlReport
	var text string // that was to be set
	var err error
	what := "the rules for sites"
	action := sent.Get("action")
	switch action {
	case "text":
		if text, err = siterules.Normal([]byte(sentText(sent))); err == nil {
			report, err = siterules.Set(ctx, d.backend, text, func(tag string) bool {
				return tag == sent.Get("tag")
			})
		}
	case "rule", "remove":
		if text, err = d.changedRule(ctx, action, sent); err == nil {
			report, err = siterules.Set(ctx, d.backend, text, func(string) bool { return true })
		}
		what = "a rule for " + strings.Join(strings.Fields(sent.Get("match")), ", ")
	default:
		err = fmt.Errorf("%w: unknown action %.40q", crawl.ErrBadQuery, action)
	}
	if err != nil {
		d.refuseSites(ctx, w, r, text, err)
		return
	}
	done := "Changed on all nodes: " + what + "."
	if len(report.Untold) > 0 {
		done += " These nodes did not answer; they will follow once they can be reached: " +
			strings.Join(report.Untold, ", ") + "."
	}
	d.goTo(w, r, "/sites", message{Text: done})
}

// sentText is the text of the area: a browser sends each end of a line as two characters.
func sentText(sent url.Values) string {
	return strings.ReplaceAll(sent.Get("text"), "\r\n", "\n")
}

// readSites reads a form. When that fails it has answered, and ok is false.
func (d *Dashboard) readSites(w http.ResponseWriter, r *http.Request) (ok bool) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSitesForm)
	if err := r.ParseForm(); err != nil {
		d.goTo(w, r, "/sites",
			message{Bad: true, Text: "The form could not be read: " + err.Error()})
		return false
	}
	return true
}

// changedRule is the text after a change of one rule. A rule is changed or removed only while the
// rules are those that the form was made of: its number names another one otherwise.
func (d *Dashboard) changedRule(ctx context.Context, action string, sent url.Values) (
	string, error) {
	text, _, err := d.backend.Sites(ctx)
	if err != nil {
		return "", err
	}
	number, err := strconv.Atoi(sent.Get("number"))
	if err != nil {
		return "", fmt.Errorf("%w: no rule is named", crawl.ErrBadQuery)
	}
	if number != newRule && sent.Get("tag") != crawl.SitesTag(text) {
		return "", crawl.ErrChanged
	}
	all, err := siterules.Read(text)
	if err != nil {
		return "", refusedRule(err)
	}
	form := formOf(sent)
	switch {
	case action == "remove":
		text, err = all.Remove(number)
	case number == newRule:
		text, err = all.Add(&form)
	default:
		text, err = all.Change(number, &form)
	}
	if err != nil {
		return "", refusedRule(err)
	}
	return text, nil
}

func refusedRule(err error) error { return fmt.Errorf("%w: %w", crawl.ErrBadQuery, err) }

func formOf(sent url.Values) siterules.Form {
	f := siterules.Form{Match: sent.Get("match"), Delay: sent.Get("delay"),
		Headers: sent.Get("headers"), Cookies: sent.Get("cookies"), Auth: sent.Get("auth"),
		Secret: sent.Get("secret"),
		Proxy:  sent.Get("proxy"), MaxPages: sent.Get("max-pages"), MaxDepth: sent.Get("max-depth"),
		Render: sent.Get("render")}
	f.Trim()
	return f
}

// refuseSites shows what was sent again, with the reasons. text is what was to be set.
func (d *Dashboard) refuseSites(ctx context.Context, w http.ResponseWriter, r *http.Request,
	text string, err error) {
	st, data, ok := d.sitesAgain(ctx, w, r)
	if !ok {
		return
	}
	code, m := http.StatusServiceUnavailable, message{Bad: true, Text: err.Error()}
	wrong := (*crawl.FieldErrors)(nil)
	switch {
	case errors.As(err, &wrong):
		code, m.Text = http.StatusBadRequest, "Nothing was changed: the rules have mistakes."
	case errors.Is(err, crawl.ErrChanged):
		code, m.Text = http.StatusPreconditionFailed, "Nothing was changed: the rules have "+
			"changed since this page was loaded. Look at them again; saving now replaces them."
	case errors.Is(err, crawl.ErrBadQuery):
		code = http.StatusBadRequest
		m.Text = "Nothing was changed: " +
			strings.TrimPrefix(err.Error(), crawl.ErrBadQuery.Error()+": ")
	case errors.Is(err, crawl.ErrForbidden):
		code = http.StatusForbidden
	case errors.Is(err, crawl.ErrRefused):
		code = http.StatusConflict
	}
	sent := r.PostForm
	if sent.Get("action") == "text" {
		data.Text = sentText(sent)
		data.Problems = problemsOf(data.Text, wrong)
	} else {
		data.Form = formOf(sent)
		if n, err := strconv.Atoi(sent.Get("number")); err == nil && sent.Get("tag") == data.Tag {
			data.Number = n
			data.Line, _ = strconv.Atoi(sent.Get("line")) // 0 if it is no number: it is only shown
		}
		for _, p := range problemsOf(text, wrong) {
			data.Refused = append(data.Refused, p.Text)
		}
	}
	d.showSites(w, r, code, st, data, &m)
}

// sitesAgain reads what a page needs that shows a form again. When that fails it has answered.
func (d *Dashboard) sitesAgain(ctx context.Context, w http.ResponseWriter, r *http.Request) (
	*crawl.Status, *sitesData, bool) {
	st, err := d.backend.Status(ctx, false)
	if err != nil {
		st = nil // the page has no figures of it
	}
	data, err := d.newSitesData(ctx, "")
	if err != nil {
		d.fail(w, r, st, "/sites", err)
		return nil, nil, false
	}
	return st, data, true
}

// testSites tells what the text of the area makes of a URL, and changes nothing.
func (d *Dashboard) testSites(w http.ResponseWriter, r *http.Request) {
	if !d.readSites(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	st, data, ok := d.sitesAgain(ctx, w, r)
	if !ok {
		return
	}
	data.Text = sentText(r.PostForm)
	data.TryURL = strings.TrimSpace(r.PostForm.Get("url"))
	data.Tag = r.PostForm.Get("tag") // of what the text was made of
	text, err := siterules.Normal([]byte(data.Text))
	var report crawl.SiteReport
	if err == nil && len(data.TryURL) <= maxQuestion {
		report, err = d.backend.TestSites(ctx, data.TryURL, &text)
	}
	wrong := (*crawl.FieldErrors)(nil)
	switch {
	case errors.As(err, &wrong):
		data.Problems = problemsOf(data.Text, wrong)
	case err != nil:
		data.Untested = err.Error()
	default:
		data.Report = newSiteReport(report, true)
		d.showSites(w, r, http.StatusOK, st, data, nil)
		return
	}
	d.showSites(w, r, http.StatusBadRequest, st, data, nil)
}

// problemsOf finds the lines of problems, which begin with line N.
func problemsOf(text string, wrong *crawl.FieldErrors) (problems []sitesProblem) {
	if wrong == nil {
		return nil
	}
	lines := strings.Split(text, "\n")
	for _, f := range wrong.Fields {
		p := sitesProblem{Text: f.Detail}
		if rest, ok := strings.CutPrefix(f.Detail, "line "); ok {
			number, what, _ := strings.Cut(rest, ": ")
			if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= len(lines) {
				p = sitesProblem{n, cutText(strings.TrimRight(lines[n-1], "\r"), 200), what}
			}
		}
		if f.Field != "sites" {
			p.Text = f.Field + ": " + p.Text
		}
		problems = append(problems, p)
	}
	return problems
}

// cutText is the beginning of a line, of at most so many characters.
func cutText(line string, most int) string {
	if chars := []rune(line); len(chars) > most {
		return string(chars[:most]) + "…"
	}
	return line
}
