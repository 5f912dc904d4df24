package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"crawlnode/config"
	"crawlnode/crawl"
)

// sentSettings is the form of the settings as a browser sends it, with some values changed.
func sentSettings(changed ...string) url.Values {
	report, _ := (&fakeNode{text: "x"}).CrawlConfig(context.Background())
	form := url.Values{"version": {"v7"}}
	for _, g := range settingsOf(report.Settings) {
		for _, s := range g.Settings {
			form.Set(s.Name, strings.ReplaceAll(s.Value, "\n", "\r\n"))
		}
	}
	for i := 0; i+1 < len(changed); i += 2 {
		form.Set(changed[i], changed[i+1])
	}
	return form
}

// What was changed is sent, as a change of the settings takes it, and nothing else.
func TestSettingsFormSendsWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		changed []string
		want    string // the change; "": none
	}{
		{nil, ""},
		{[]string{"delay", " 2s ", "max_pages", "500"}, `map[delay:"2s"]`},
		{[]string{"include", "a\r\n\r\n b \r\n", "assets", "true"}, `map[assets:"true" include:["a","b"]]`},
		{[]string{"include", ""}, `map[include:[]]`},
		{[]string{"max_pages", "", "ip_delay", "1s"}, `map[ip_delay:"1s" max_pages:null]`},
		{[]string{"store", "none", "made_up", "1"}, ""}, // no fields of the form
	} {
		f := &fakeNode{text: "x"}
		h := serve(f, nil)
		w := post(h, "/control/settings", sentSettings(tc.changed...))
		says := get(h, w.Header().Get("Location")).Body.String()
		switch {
		case w.Code != http.StatusSeeOther ||
			!strings.HasPrefix(w.Header().Get("Location"), "/settings?m="):
			t.Errorf("%v: %d %v", tc.changed, w.Code, w.Header())
		case tc.want == "" && (len(f.changes) > 0 || !strings.Contains(says, "Nothing was changed")):
			t.Errorf("%v: %v, said\n%s", tc.changed, f.changes, mainOf(says))
		case tc.want != "":
			if len(f.changes) != 1 || f.changes[0].Version != "v7" || fmtChange(f.changes[0]) != tc.want ||
				!strings.Contains(says, "Changed on all nodes") ||
				!strings.Contains(says, "follow once they can be reached: beta") {
				t.Errorf("%v: %v, want %s; said\n%s", tc.changed, f.changes, tc.want, mainOf(says))
			}
		}
	}
}

func fmtChange(c crawl.CrawlChange) string {
	texts := map[string]string{}
	for name, raw := range c.Settings {
		texts[name] = string(raw)
	}
	return fmt.Sprint(texts)
}

// A refused form is shown again with what was written and the reasons beside their fields.
func TestRefusedSettingsAreShownAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code int
		says []string
	}{
		{&crawl.FieldErrors{Fields: []crawl.FieldError{{Field: "delay", Detail: "is <b>no</b> duration"},
			{Field: "max-pages", Detail: "is negative"}, {Field: "partitions", Detail: "is fixed"}}}, 400,
			[]string{`id="delay-problem">is &lt;b&gt;no&lt;/b&gt; duration`,
				`id="max_pages-problem">is negative`, "partitions: is fixed", `name="delay" value="soon"`,
				`aria-invalid="true"`, "3 values were refused", `value="/settings"`}},
		{&crawl.FieldErrors{Fixed: true, Fields: []crawl.FieldError{{Field: "delay", Detail: "is fixed"}}}, 409, []string{"one value was refused"}},
		{fmt.Errorf("%w: by n2", crawl.ErrChanged), 412, []string{"have changed since this page was loaded", `name="delay" value="soon"`}},
		{fmt.Errorf("%w: over the network", crawl.ErrForbidden), 403, []string{"over the network"}},
		{errors.New("no majority"), 503, []string{"no majority", `name="delay" value="soon"`}},
	} {
		f := &fakeNode{text: "x", refuse: tc.err}
		w := post(serve(f, nil), "/control/settings", sentSettings("delay", "soon", "max_pages", "-1"))
		for _, want := range tc.says {
			if w.Code != tc.code || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%v: %d without %q\n%s", tc.err, w.Code, want, mainOf(w.Body.String()))
			}
		}
	}
}

// startForm is the form that starts a crawl.
func startForm(urls string, changed ...string) url.Values {
	form := url.Values{
		"urls":         {urls},
		"version":      {"v7"},
		"scope":        {"host"},
		"max_depth":    {"0"},
		"max_pages":    {"500"},
		"max_duration": {"0s"},
		"delay":        {"1s"},
		"contact":      {"x"},
	}
	for i := 0; i+1 < len(changed); i += 2 {
		form.Set(changed[i], changed[i+1])
	}
	return form
}

// Starting changes the settings first and adds the seeds then; when that was refused no seed was
// added.
func TestStart(t *testing.T) {
	t.Parallel()
	f := &fakeNode{text: "x", state: crawl.CrawlIdle}
	h := serve(f, nil)
	if body := get(h, "/").Body.String(); !strings.Contains(body, `action="/control/start"`) ||
		strings.Contains(body, `action="/control/seeds"`) {
		t.Errorf("an idle crawl cannot be started from the overview:\n%s", mainOf(body))
	}
	w := post(h, "/control/start",
		startForm("http://a.test/\r\nhttp://b.test/", "scope", "domain", "max_pages", "20"))
	says := get(h, w.Header().Get("Location")).Body.String()
	if w.Code != http.StatusSeeOther || len(f.seeds) != 2 || len(f.changes) != 1 ||
		fmtChange(f.changes[0]) != `map[max_pages:"20" scope:"domain"]` ||
		!strings.Contains(says, "Seeds: 2 accepted") ||
		!strings.Contains(says, "Changed on all nodes: max-pages, scope.") {
		t.Errorf("%d, seeds %v, changes %v, said\n%s", w.Code, f.seeds, f.changes, mainOf(says))
	}
	w = post(h, "/control/start", startForm("http://c.test/"))
	if w.Code != http.StatusSeeOther || len(f.seeds) != 3 || len(f.changes) != 1 {
		t.Errorf("without other settings: %d, %d seeds, %d changes", w.Code, len(f.seeds), len(f.changes))
	}
	f = &fakeNode{text: "x", refuse: &crawl.FieldErrors{
		Fields: []crawl.FieldError{{Field: "delay", Detail: "is no duration"}},
	}}
	h = serve(f, nil)
	w = post(h, "/control/start", startForm("http://a.test/", "delay", "soon"))
	if body := w.Body.String(); w.Code != 400 || len(f.seeds) > 0 ||
		!strings.Contains(body, `id="delay-problem">is no duration`) ||
		!strings.Contains(body, ">http://a.test/</textarea>") {
		t.Errorf("a refused setting: %d, seeds %v\n%s", w.Code, f.seeds, mainOf(body))
	}
	w = post(h, "/control/start", startForm(" \n#"))
	if body := w.Body.String(); w.Code != 400 || !strings.Contains(body, "no URL was given") {
		t.Errorf("no seed: %d\n%s", w.Code, mainOf(body))
	}
}

// An operator may add seeds with the form, and only an admin may change settings with it.
func TestStartNeedsTheRole(t *testing.T) {
	t.Parallel()
	for changed, code := range map[string]int{"500": 303, "20": 403} {
		f := &fakeNode{text: "x"}
		r := httptest.NewRequest("POST", "/control/start",
			strings.NewReader(startForm("http://a.test/", "max_pages", changed).Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		serve(f, nil).ServeHTTP(w,
			r.WithContext(crawl.WithCaller(r.Context(), crawl.Caller{Role: crawl.RoleOperate})))
		if w.Code != code || len(f.changes) > 0 || (len(f.seeds) > 0) != (code == 303) {
			t.Errorf("max-pages %s by an operator: %d, %v, %v", changed, w.Code, f.changes, f.seeds)
		}
	}
}

// Every setting that can change has a field, in whatever release it came; rules for sites have a
// page.
func TestEverySettingHasAField(t *testing.T) {
	t.Parallel()
	report := config.Report(&crawl.Settings{})
	fields := map[string]bool{"sites": true}
	for _, g := range settingsOf(report) {
		for _, s := range g.Settings {
			fields[s.Name] = true
			if s.Hint == "" {
				t.Errorf("%s has no hint", s.Name)
			}
		}
	}
	for _, name := range config.Changeable() {
		if !fields[strings.ReplaceAll(name, "-", "_")] {
			t.Errorf("%s has no field", name)
		}
	}
	if len(fields) != len(config.Changeable()) {
		t.Errorf("%d fields for %d settings", len(fields), len(config.Changeable()))
	}
	for _, p := range settingPlans {
		if !fields[p.name] {
			t.Errorf("the form has a place for %s, which cannot be changed", p.name)
		}
	}
}
