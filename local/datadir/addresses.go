package datadir

import (
	"encoding/json"
	"os"
)

// Addresses are the listening addresses of a node.
type Addresses struct {
	HTTP   string `json:"http"`
	Gossip string `json:"gossip"`
	RPC    string `json:"rpc"`
	// Asked holds the flags' addresses: if they change, the stored ones are invalid.
	Asked string `json:"asked"`
}

// LoadAddresses returns the addresses of the last start; not ok: there are none.
func (d *Dir) LoadAddresses() (a Addresses, ok bool) {
	b, err := os.ReadFile(d.Join("addresses.json"))
	if err != nil {
		return a, false
	}
	return a, json.Unmarshal(b, &a) == nil
}

// SaveAddresses stores them for the next start.
func (d *Dir) SaveAddresses(a Addresses) error {
	b, err := json.Marshal(a)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return WriteSynced(d.Join("addresses.json"), append(b, '\n'))
}
