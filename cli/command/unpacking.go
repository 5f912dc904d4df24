package command

import "crawlnode/config"

// Unpacking is the flag of the verbs that unpack what a crawl has stored. Verbs that run a crawl
// have its setting --max-body instead.
type Unpacking struct {
	MaxBody config.Size `name:"max-body" group:"output" placeholder:"SIZE" default:"10MiB" help:"Unpack no more than this of a page: give what the crawl had."`
}

// Most is the limit in bytes.
func (u *Unpacking) Most() int64 { return int64(u.MaxBody) }
