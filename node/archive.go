package node

import (
	"encoding/json"

	"crawlnode/store/archive"
)

// archiveInfo is what an archive file that is begun now says of the crawl. No From
// header is sent, so the contact stands as the operator alone.
func (n *Node) archiveInfo() archive.Info {
	s := n.doc.Current().doc.Settings
	text, err := json.Marshal(&s)
	if err != nil {
		panic("BUG: settings cannot be written as JSON: " + err.Error())
	}
	i := archive.Info{Operator: s.Contact, Robots: "classic", UserAgent: s.UserAgent, Settings: string(text)}
	if s.RobotsIgnore { // which counts inside allow_net only, as the settings tell
		i.Robots = "ignore"
	}
	return i
}
