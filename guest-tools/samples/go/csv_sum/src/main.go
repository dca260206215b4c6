// csv_sum adds up a column of a CSV file. JSON on stdin, JSON on stdout: the standard
// library is all it needs.
package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path"
	"strings"
)

type arguments struct {
	Path   string `json:"path"`
	Column string `json:"column"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type result struct {
	Content           []content      `json:"content"`
	StructuredContent map[string]any `json:"structuredContent,omitempty"`
	IsError           bool           `json:"isError"`
}

func answer(text string, structured map[string]any, isError bool) {
	err := json.NewEncoder(os.Stdout).Encode(result{[]content{{"text", text}}, structured, isError})
	if err != nil {
		os.Exit(1)
	}
}

// sum is exact: decimal fractions are no floats.
func sum(file io.Reader, column string) (*big.Rat, int, error) {
	reader := csv.NewReader(file)
	head, err := reader.Read()
	if err != nil {
		return nil, 0, err
	}
	at := -1
	for i, name := range head {
		if strings.TrimSpace(name) == column {
			at = i
		}
	}
	if at < 0 {
		return nil, 0, fmt.Errorf("no column %q; there are %q", column, head)
	}
	total, rows := new(big.Rat), 0
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return total, rows, nil
		}
		if err != nil {
			return nil, 0, err
		}
		value, ok := new(big.Rat).SetString(strings.TrimSpace(row[at]))
		if !ok || len(row[at]) > 100 || strings.ContainsAny(row[at], "eE/") {
			return nil, 0, fmt.Errorf("row %d: %.100q is no number", rows+2, row[at])
		}
		total.Add(total, value)
		rows++
	}
}

func main() {
	var args arguments
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(&args); err != nil {
		answer("arguments: "+err.Error(), map[string]any{"code": "bad-arguments"}, true)
		return
	}
	name := args.Path
	if !path.IsAbs(name) {
		name = path.Join("/workspace", name)
	}
	file, err := os.Open(name)
	if err != nil {
		answer(err.Error(), map[string]any{"code": "not-found"}, true)
		return
	}
	defer file.Close()
	total, rows, err := sum(file, args.Column)
	if err != nil {
		answer(err.Error(), map[string]any{"code": "bad-input"}, true)
		return
	}
	text := strings.TrimSuffix(strings.TrimRight(total.FloatString(9), "0"), ".")
	answer(fmt.Sprintf("%s in %d rows", text, rows), map[string]any{"sum": text, "rows": rows}, false)
}
