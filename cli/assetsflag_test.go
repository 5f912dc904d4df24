package cli

import (
	"testing"

	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// --assets stands alone or with a policy, also before a URL, and reads what was a switch.
func TestAssetsFlag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want crawl.AssetPolicy
	}{
		{nil, crawl.AssetsOff}, {[]string{"--assets"}, crawl.AssetsAny},
		{[]string{"--assets", "same-host"}, crawl.AssetsSameHost},
		{[]string{"--assets=same-host"}, crawl.AssetsSameHost},
		{[]string{"--assets", "off"}, crawl.AssetsOff}, {[]string{"--assets=true"}, crawl.AssetsAny},
		{[]string{"--assets", "--max-pages", "1"}, crawl.AssetsAny},
		{[]string{"--assets", "b.example"}, crawl.AssetsAny},
	} {
		parsed, err := testParser(t).Parse(append(append([]string{"crawl"}, c.args...), "a.example"))
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := parsed.Selected().Target.Addr().Interface().(*crawlVerb); !ok ||
			v.Scope.Assets != c.want {
			t.Errorf("%q: %+v, want %q", c.args, v.Scope.Assets, c.want)
		}
	}
	run(t, "", "crawl", "a.example", "--assets=some").want(t, command.ExitUsage, "",
		`"some" must be off, same-host or any`)
	// a URL
	run(t, "", "crawl", "--assets", "some.example", "a.example").want(t, command.ExitUsage, "",
		"--contact")
	for value, want := range map[string]string{
		"true":      "any",
		"on":        "any",
		"same-host": "same-host",
		"false":     "off",
		"off":       "off",
	} {
		runWith(t, map[string]string{"CRAWLNODE_ASSETS": value}, "", "config", "print").want(t,
			command.ExitOK, "assets: "+want+"\n", "")
	}
	runWith(t, map[string]string{"CRAWLNODE_ASSETS": "some"}, "", "config", "print").want(t,
		command.ExitUsage, "", "must be off, same-host or any")
}
