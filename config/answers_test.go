package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestAnswersSurviveSettings: each value, zero included, is told to other nodes and read back, and
// a document of an older node, without the fields, means the defaults.
func TestAnswersSurviveSettings(t *testing.T) {
	t.Parallel()
	def := Default()
	for name, a := range map[string]Answers{
		"defaults": def.Answers,
		"none": {
			Retries:       0,
			RetryStatuses: "none",
			Timeout:       time.Second,
			HeaderTimeout: time.Second,
			Cookies:       "off",
			Blocked:       "off",
			Purpose:       "ai-train",
			Preferences:   "obey",
		},
		"many": {
			Retries:       100,
			RetryStatuses: "404,500-599",
			Timeout:       time.Hour,
			HeaderTimeout: time.Minute,
			Cookies:       "visit",
			Blocked:       "back-off",
			Purpose:       "ai-train",
			Preferences:   "obey",
		},
		"no retry": {
			Retries:       0,
			RetryStatuses: crawl.DefaultRetryStatuses,
			Timeout:       time.Minute,
			HeaderTimeout: 15 * time.Second,
			Cookies:       "visit",
			Blocked:       "back-off",
			Purpose:       "ai-train",
			Preferences:   "obey",
		},
		"one": {
			Retries:       1,
			RetryStatuses: "502",
			Timeout:       5 * time.Second,
			HeaderTimeout: 15 * time.Second,
			Cookies:       "visit",
			Blocked:       "back-off",
			Purpose:       "ai-train",
			Preferences:   "obey",
		},
		"slow": {
			Retries:       3,
			RetryStatuses: "408",
			Timeout:       10 * time.Minute,
			HeaderTimeout: 5 * time.Minute,
			Cookies:       "off",
			Blocked:       "back-off",
			Purpose:       "ai-train",
			Preferences:   "obey",
		},
	} {
		c := Default()
		c.Answers = a
		sent := c.Settings("1")
		text, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got crawl.Settings
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if back := ofSettings(&got, "1"); !reflect.DeepEqual(back.Answers, a) {
			t.Errorf("%s: %+v, want %+v", name, back.Answers, a)
		}
		if r := Report(&got); r.Text("retries") != strconv.Itoa(a.Retries) ||
			r.Text("retry_statuses") != a.RetryStatuses || r.Text("timeout") != a.Timeout.String() ||
			r.Text("cookies") != a.Cookies {
			t.Errorf("%s: reported as %+v", name, r)
		}
	}
	if back := ofSettings(&crawl.Settings{}, "1"); !reflect.DeepEqual(back.Answers, def.Answers) {
		t.Errorf("an older document means %+v", back.Answers)
	}
}

// TestBadAnswers: what is wrong is refused, at the start and while the crawl runs.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for flag, values := range map[string][]string{
		"retries": {"-1", "101", "x"}, "retry-statuses": {"200", "5xx", "504-500", "99", "302",
			"502,,503"},
		"timeout": {"0s", "-1s", "2h", "x"}, "header-timeout": {"0s", "1ms", "61m"},
		"cookies": {"on", "jar", ""},
	} {
		for _, value := range values {
			c := Default()
			if err := fieldNamed(&c, flag).set([]string{value}); err == nil && c.Validate() == nil {
				t.Errorf("--%s %q is taken", flag, value)
			}
			d := Default()
			s := d.Settings("1")
			if _, err := Change(&s, map[string]json.RawMessage{
				flag: json.RawMessage(`"` + value + `"`),
			}, "1"); err == nil {
				t.Errorf("%s=%q is taken while the crawl runs", flag, value)
			}
		}
	}
	for flag, value := range map[string]string{
		"retries":        `0`,
		"retry-statuses": `"502"`,
		"timeout":        `"5s"`,
		"header-timeout": `"1s"`,
		"cookies":        `"off"`,
	} {
		d := Default()
		s := d.Settings("1")
		changed, err := Change(&s, map[string]json.RawMessage{flag: json.RawMessage(value)}, "1")
		if err != nil || reflect.DeepEqual(s, changed) {
			t.Errorf("%s=%s: %v", flag, value, err)
		}
	}
}
