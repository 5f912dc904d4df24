package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crawlnode/crawl"
)

// Overruled is a setting of the crawl that was given to this node and has no effect, because the
// cluster has another value.
type Overruled struct {
	Name        string   // of the flag, without dashes
	Own, Stored []string // its values here and in the cluster
	Live        bool     // crawl-config set changes it
}

// String is the setting in the form of the command line.
func (o Overruled) String() string {
	return "--" + o.Name + " " + o.text(o.Own) + " (the crawl has: " + o.text(o.Stored) + ")"
}

// text shows the values of the setting. Rules for sites are long: their name stands for them.
func (o Overruled) text(values []string) string {
	if o.Name == "sites" && len(values) == 1 {
		return SitesName(values[0])
	}
	return settingText(values)
}

// settingText shows the values of a setting.
func settingText(values []string) string {
	if len(values) == 0 {
		return "not set"
	}
	if len(values) == 1 {
		return crawl.ShortTopic(values[0])
	}
	return strings.Join(values, ",")
}

// Change is the setting as one that replaces the crawl's.
func (o Overruled) Change() string {
	return "--" + o.Name + " " + o.text(o.Own) + " (was: " + o.text(o.Stored) + ")"
}

// Changes are the arguments of crawl-config set that would apply it.
func (o Overruled) Changes() []string {
	if len(o.Own) == 0 {
		return []string{o.Name + "="}
	}
	if o.Name == "sites" {
		return []string{"sites=@FILE"} // the file of --sites
	}
	changes := make([]string, len(o.Own))
	for i, v := range o.Own {
		if strings.HasPrefix(v, crawl.TopicPrefix) {
			v, _, _ = strings.Cut(crawl.ShortTopic(v), " (") // the file's name
		}
		changes[i] = o.Name + "=" + v
	}
	return changes
}

// Given lists the settings that in sets: all but the defaults.
func Given(in Input) []string {
	_, from, _ := layer(in)
	var names []string
	for _, name := range Names() {
		if _, ok := from[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// OverruledByFounding compares the given settings that only a founder decides.
func (c *Config) OverruledByFounding(given []string, partitions, replication int) []Overruled {
	var found []Overruled
	for _, x := range []struct {
		name        string
		own, stored int
	}{{"partitions", c.Partitions, partitions}, {"replication", c.Replication, replication}} {
		if x.own != x.stored && slices.Contains(given, x.name) {
			found = append(found, Overruled{
				Name:   x.name,
				Own:    []string{strconv.Itoa(x.own)},
				Stored: []string{strconv.Itoa(x.stored)},
			})
		}
	}
	return found
}

// Overruled compares the given settings of the crawl with those that the cluster has stored.
func (c *Config) Overruled(given []string, stored *crawl.Settings, version string) []Overruled {
	theirs := ofSettings(stored, version)
	theirFields := fieldsOf(&theirs)
	var found []Overruled
	for i, f := range fieldsOf(c) {
		asked := slices.Contains(given, f.name) ||
			f.name == "exclude" && slices.Contains(given, "exclude-file")
		live := f.changeable()
		if !asked || !f.inDocument() {
			continue
		}
		if own, other := f.texts(), theirFields[i].texts(); !slices.Equal(own, other) &&
			(live || !f.equal(theirFields[i])) {
			found = append(found, Overruled{Name: f.name, Own: own, Stored: other, Live: live})
		}
	}
	return found
}

// Adopt returns the stored settings with the own values of those that overruled names. The
// error is that of Change.
func Adopt(overruled []Overruled, stored *crawl.Settings, version string) (crawl.Settings, error) {
	changes := map[string]json.RawMessage{}
	for _, o := range overruled {
		var value any = o.Own
		switch len(o.Own) {
		case 0:
			value = ""
		case 1:
			value = o.Own[0]
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return crawl.Settings{}, fmt.Errorf("--%s: %w", o.Name, err)
		}
		changes[o.Name] = raw
	}
	return Change(stored, changes, version)
}
