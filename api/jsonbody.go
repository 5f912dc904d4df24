package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// decodeStrict reads exactly one JSON value without unknown fields. Its errors are for the client.
func decodeStrict(text []byte, v any) error {
	if crowded(text) {
		return errCrowded
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return inWords(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// inWords says what is wrong with a JSON text, without the names that types have in Go.
func inWords(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "it"
		if wrong.Field != "" {
			what = wrong.Field
		}
		return fmt.Errorf("%s is the wrong kind of value (%s): %s is wanted", what, wrong.Value,
			kindInWords(wrong.Type))
	}
	if wrong, ok := errors.AsType[*time.ParseError](err); ok {
		return fmt.Errorf("%q is not a time: write it like 2026-01-02T15:04:05Z",
			strings.Trim(wrong.Value, `"`))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// kindInWords is what JSON calls the values of a type.
func kindInWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number of 0 or more"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	default:
		return "an object"
	}
}
