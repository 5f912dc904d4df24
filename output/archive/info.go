package archive

import "time"

// Info is the content of a file's warcinfo record: how the crawl was run when the file was started.
// Empty fields are left out.
type Info struct {
	// Operator is the contact: a name, a mail address or a web page.
	Operator string
	// Robots is the robots.txt policy: "classic" (obeyed) or "ignore".
	Robots string
	// UserAgent is the User-Agent header that is sent.
	UserAgent string
	// Settings are the crawl's rules, as JSON in one line.
	Settings string
}

// conformsTo names the version of the format.
const conformsTo = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

// info makes the warcinfo record of a file.
func (e *encoder) info(fileName string, now time.Time, o *Options) error {
	e.out = e.out[:0]
	id, err := newRecordID(e.random)
	if err != nil {
		return err
	}
	var i Info
	if o.Info != nil {
		i = o.Info()
	}
	e.begin("warcinfo", id, now)
	e.field("WARC-Filename", fileName)
	e.field("Content-Type", warcFields)
	return e.end(appendFields(nil, [][2]string{
		{"software", o.Software}, {"operator", i.Operator}, {"hostname", o.Name},
		{"format", "WARC file version 1.1"}, {"conformsTo", conformsTo},
		{"robots", i.Robots}, {"http-header-user-agent", i.UserAgent},
		{"crawlnode-settings", i.Settings},
	}), nil)
}

// warcFields is the media type of a block of fields.
const warcFields = "application/warc-fields"

// appendFields appends a block of fields, each a name and a value; those without a
// value are left out. Control bytes in values are percent-encoded.
func appendFields(block []byte, fields [][2]string) []byte {
	for _, f := range fields {
		if f[1] != "" {
			block = append(append(block, f[0]...), ": "...)
			block = append(appendClean(block, f[1]), "\r\n"...)
		}
	}
	return block
}
