package s3

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Target is where files go.
type Target struct {
	Bucket, Prefix string // the prefix has no slash at its ends
	Endpoint       string // host:port, or "" for Amazon S3
	Plain          bool   // http, not https
	Region         string
	Lookup         string // path, dns or "": chosen by the endpoint
	SSE            string // AES256, aws:kms or ""
	KMSKey         string
}

// Folder is s3://BUCKET/PREFIX.
func (t *Target) Folder() string {
	return "s3://" + strings.TrimSuffix(t.Bucket+"/"+t.Prefix, "/")
}

// Place is the folder, and the endpoint unless it is Amazon's. Two targets of one place have the
// same objects.
func (t *Target) Place() string {
	if t.Endpoint == "" {
		return t.Folder()
	}
	return t.Folder() + " at " + t.Endpoint
}

// ParseTarget reads s3://bucket/prefix?options and the endpoint's URL.
func ParseTarget(text, endpoint string) (Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return Target{}, fmt.Errorf("%q must be s3://BUCKET/PREFIX; "+
			"credentials come from the environment (AWS_ACCESS_KEY_ID) or ~/.aws/credentials", text)
	}
	t := Target{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if why := wrongBucket(t.Bucket, endpoint == ""); why != "" {
		return Target{}, fmt.Errorf("%q: the name of the bucket %s", text, why)
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, fmt.Errorf("%q: %w", text, err)
	}
	for name, values := range options {
		value := values[len(values)-1]
		switch {
		case name == "region":
			t.Region = value
		case name == "lookup" && (value == "path" || value == "dns"):
			t.Lookup = value
		case name == "sse" && (value == "AES256" || value == "aws:kms"):
			t.SSE = value
		case name == "kms-key":
			t.KMSKey = value
		default:
			return t, fmt.Errorf(
				"%q: %s=%s is none of region=NAME, lookup=path|dns, sse=AES256|aws:kms, kms-key=ID", text, name,
				value)
		}
	}
	if endpoint == "" {
		return t, nil
	}
	e, err := url.Parse(endpoint)
	if err != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" ||
		strings.Trim(e.Path, "/") != "" || e.RawQuery != "" {
		return t, fmt.Errorf("the endpoint %q must be http://HOST:PORT or https://HOST:PORT", endpoint)
	}
	t.Endpoint, t.Plain = e.Host, e.Scheme == "http"
	return t, nil
}

// wrongBucket says why no store has a bucket of that name, by the rules that Amazon S3 has and
// others follow; "": one may have it. Only some others have names with an underscore.
func wrongBucket(name string, amazon bool) string {
	alnum := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	if len(name) < 3 || len(name) > 63 {
		return fmt.Sprintf("has %d characters: it must have 3 to 63", len(name))
	}
	for i := range len(name) {
		switch c := name[i]; {
		case alnum(c), c == '-', c == '.', c == '_' && !amazon:
		case c >= 'A' && c <= 'Z':
			return "has an upper-case letter: write it in lower case"
		default:
			return fmt.Sprintf("has %q: it may have a to z, 0 to 9, - and .", c)
		}
	}
	_, err := netip.ParseAddr(name)
	switch {
	case !alnum(name[0]) || !alnum(name[len(name)-1]):
		return "must begin and end with a letter or a digit"
	case strings.Contains(name, ".."), strings.HasPrefix(name, "xn--"):
		return "must not have two dots in a row, nor begin with xn--"
	case err == nil:
		return "is an address: the store's address goes into the endpoint"
	}
	return ""
}

// Key is the key of a file of a node; name is folder/file.
func (t *Target) Key(cluster, node, name string) string {
	return t.Object(cluster + "/" + node + "/" + name)
}

// Object is the key of an object of that name.
func (t *Target) Object(name string) string {
	if t.Prefix == "" {
		return name
	}
	return t.Prefix + "/" + name
}

// Keep says which files stay on the disk once they were sent.
type Keep struct {
	All   bool  // everything
	Index bool  // the indexes
	Bytes int64 // the newest files, so many bytes; 0: none
}

// ParseKeep reads all, index, none, or a size by parse.
func ParseKeep(text string, parse func(string) (int64, error)) (Keep, error) {
	switch text {
	case "", "all":
		return Keep{All: true, Index: true}, nil
	case "index":
		return Keep{Index: true}, nil
	case "none":
		return Keep{}, nil
	}
	n, err := parse(text)
	if err != nil || n <= 0 {
		return Keep{}, fmt.Errorf("%q must be all, index, none, or how much stays, such as 50GiB", text)
	}
	return Keep{Index: true, Bytes: n}, nil
}
