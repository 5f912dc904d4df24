package report

import (
	"fmt"
	"sync"
	"time"

	"crawlnode/crawl"
)

// sitesTold bounds how many reasons of one code a node gives for the rules for sites: a block is sent
// every second.
const sitesTold = 5

// siteOnsets remembers when each trouble with the rules for sites was seen first, for those that say
// no time of their own. The zero value remembers nothing.
type siteOnsets struct {
	mu    sync.Mutex
	began map[string]time.Time // guarded by mu; by code and object
}

// note returns when each of these troubles began, and forgets the others.
func (o *siteOnsets) note(keys []string, now time.Time) map[string]time.Time {
	began := make(map[string]time.Time, len(keys))
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range keys {
		at, ok := o.began[key]
		if !ok {
			at = now
		}
		began[key] = at
	}
	o.began = began
	return began
}

// siteReasons say what keeps this node from doing what the rules for sites say.
func (r *Reporter) siteReasons(now time.Time) []crawl.HealthReason {
	return siteReasons(r.Name, r.SiteTrouble(), &r.sites, now)
}

func siteReasons(name string, t crawl.SiteTrouble, onsets *siteOnsets, now time.Time) (rs []crawl.HealthReason) {
	type trouble struct {
		code, object string
		since        time.Time
		message      string
	}
	var all []trouble
	for _, m := range t.Secrets {
		all = append(all, trouble{crawl.ReasonSecretMissing, m.Secret, m.Since, fmt.Sprintf(
			"%s lacks the secret %s, which a rule for sites names; %s: add a line %s=VALUE to the file of --secrets "+
				"on this node and send it SIGHUP", name, m.Secret, hostsWait(m.Hosts), m.Secret)})
	}
	for _, f := range t.Proxies {
		all = append(all, trouble{crawl.ReasonProxyFailing, f.Proxy, f.Since, fmt.Sprintf(
			"%s cannot use the proxy %s of a rule for sites, and goes on trying: %s; hosts that have no other one wait: "+
				"start it, correct its secret, or give the rule another one: crawlnode crawl-config set sites=@FILE",
			name, f.Proxy, f.Error)})
	}
	for _, m := range t.Sources {
		all = append(all, trouble{crawl.ReasonSourceMissing, m.Address.String(), m.Since, fmt.Sprintf(
			"%s does not have the source address %s, which a rule for sites names; %s: give its machine that address, "+
				"or take it out of the rule: crawlnode crawl-config set sites=@FILE", name, m.Address, hostsWait(m.Hosts))})
	}
	keys := make([]string, len(all))
	for i, x := range all {
		keys[i] = x.code + " " + x.object
	}
	began, told, more := onsets.note(keys, now), map[string]int{}, map[string]int{}
	for i, x := range all {
		if told[x.code] == sitesTold {
			more[x.code]++
			continue
		}
		told[x.code]++
		if x.since.IsZero() {
			x.since = began[keys[i]]
		}
		rs = append(rs, crawl.HealthReason{Code: x.code, Since: x.since.UTC().Truncate(time.Second), Message: x.message})
	}
	for i := range rs { // the last of each code says how many more there are
		if last := i == len(rs)-1 || rs[i+1].Code != rs[i].Code; last && more[rs[i].Code] > 0 {
			rs[i].Message += fmt.Sprintf(" (and %d more)", more[rs[i].Code])
		}
	}
	return rs
}

// hostsWait is how many hosts wait, in words.
func hostsWait(n int) string {
	if n == 1 {
		return "1 host waits"
	}
	return fmt.Sprintf("%d hosts wait", n)
}
