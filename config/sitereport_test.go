package config

import (
	"errors"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestSiteByText: rules are tried beside the settings; what is wrong with them, or with the URL, is
// told.
func TestSiteByText(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Retries = 7
	s := c.Settings("1")
	r, err := SiteByText(&s, "- match: host:a.test\n  delay: 9s\n", "http://A.test/x")
	if err != nil || r.URL != "http://a.test/x" || len(r.Rules) != 1 || r.Values[0].Value != "9s" ||
		*r.Values[0].Line != 2 || r.Values[1].Value != "7" || r.Values[1].Line != nil {
		t.Errorf("%+v, %v", r, err)
	}
	wrong := (*crawl.FieldErrors)(nil)
	_, err = SiteByText(&s, "- match: x\n- delay: 1s\n", "http://a.test/")
	if !errors.As(err, &wrong) || len(wrong.Fields) != 2 ||
		!strings.HasPrefix(wrong.Fields[1].Detail, "line 2: ") ||
		wrong.Fields[0].Field != "sites" {
		t.Errorf("%v", err)
	}
	for _, url := range []string{"", "mailto:x", "a.test", "http://", "\x00"} {
		if _, err := SiteByText(&s, "", url); !errors.Is(err, crawl.ErrNoURL) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestSitesOverruled: rules that the cluster has otherwise are told by name, not by their text.
func TestSitesOverruled(t *testing.T) {
	t.Parallel()
	const own, theirs = "- match: host:a.test\n  delay: 9s\n", "- match: host:b.test\n  delay: 9s\n"
	c, d := Default(), Default()
	c.Sites.Text, d.Sites.Text = own, theirs
	stored := d.Settings("1")
	list := c.Overruled([]string{"sites"}, &stored, "1")
	if len(list) != 1 {
		t.Fatalf("%q", list)
	}
	says := "--sites " + SitesName(own) + " (the crawl has: " + SitesName(theirs) + ")"
	if list[0].String() != says || list[0].Changes()[0] != "sites=@FILE" ||
		strings.Contains(list[0].Change(), "match") {
		t.Errorf("%s, %q, %s", list[0], list[0].Changes(), list[0].Change())
	}
	if adopted, err := Adopt(list, &stored, "1"); err != nil || adopted.Sites != own {
		t.Errorf("adopted: %q, %v", adopted.Sites, err)
	}
	stored.Sites = ""
	if says := c.Overruled([]string{"sites"}, &stored, "1")[0].String(); !strings.HasSuffix(says,
		"(the crawl has: not set)") {
		t.Error(says)
	}
}
