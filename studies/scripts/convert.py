#!/usr/bin/env python3
"""convert.py: makes the recorded tables of comparisons into the one form, runs.csv: joins DIR/runs.csv with DIR/errors.csv (measures of
each network) and with what DIR/compare.csv alone has (rate, dropout, time of the flow, means of errors where no run has its own)."""
import csv, glob, os, sys

ERR = ['truncation', 'truncation_slope', 'truncation_leading', 'truncation_governed', 'layer_truncation', 'layer_truncation_slope', 'check',
       'one_by_one', 'truncation_low', 'truncation_high']

def rows(path):
    return list(csv.DictReader(open(path, newline=''))) if os.path.exists(path) else []

def convert(d):
    runs, errors, table = rows(d + '/runs.csv'), rows(d + '/errors.csv'), rows(d + '/compare.csv')
    if not runs or 'scheme' not in runs[0] or 'part' in runs[0]: return
    measured = {(r['scheme'], r['layers'], r['seed']): r for r in errors}
    cell = {(r['scheme'], r['layers']): r for r in table if r['layers']}
    out, head = [], ['scheme', 'layers', 'seed', 'valid_ppl', 'test_ppl', 'part', 'params', 'rate', 'dropout', 'best_epoch', 'gaining',
                     'tokens_per_s', 'peak_bytes'] + ERR + ['truncation_time']
    told, left = set(), {}
    for r in runs:
        key = (r['scheme'], r['layers'])
        c = cell.get(key, {})
        o = {k: r.get(k, '') for k in head}
        o['part'] = ''
        o['rate'], o['dropout'] = c.get('rate', ''), c.get('dropout', '')
        e = measured.get(key + (r['seed'],))
        if e: o.update({k: e.get(k, '') for k in ERR})
        elif c and not any(k[:2] == key for k in measured) and key not in told and c.get('truncation'):
            # the mean of all runs stands in the first run's row, once
            o.update({k: c.get(k, '') for k in ERR if k not in ('check', 'truncation_governed')})
            o['truncation_governed'] = {'yes': '1', 'no': '0'}.get(c.get('truncation_governs', ''), '')
            told.add(key)
            print('mean', d, r['scheme'])
        if any(o[k] for k in ERR): o['truncation_time'] = c.get('truncation_time', '') or '1'
        # compare.csv counts the runs whose best epoch was their last
        n = left.setdefault(key, int(float(c['gaining'])) if c.get('gaining') else None)
        if n is not None:
            o['gaining'] = '1' if n > 0 else '0'
            left[key] = max(0, n - 1)
        out.append(o)
    for b in table:
        if not b['layers']:
            out.append({'scheme': b['scheme'], 'part': 'bound', 'valid_ppl': b['valid_ppl'], 'test_ppl': b['test_ppl']})
    with open(d + '/runs.csv', 'w', newline='') as f:
        w = csv.DictWriter(f, head, restval='', lineterminator='\n')
        w.writeheader()
        w.writerows(out)

for p in sorted(glob.glob(sys.argv[1] + '/**/runs.csv', recursive=True)): convert(os.path.dirname(p))
