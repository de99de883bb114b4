/* The run: machine, versions, command, configuration, notes, and what each figure is; see panes.h. */
#include "panes.h"

#include "../lib/energy.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static void named(text_out *page, const char *name, const char *value) {
  if (!value || !*value) return;
  page_markup(page, "<tr><th scope=\"row\">");
  page_text(page, name);
  page_markup(page, "</th><td>");
  page_text(page, value);
  page_markup(page, "</td></tr>\n");
}

static void started(text_out *page, const pd_run *run) {
  const time_t seconds = (time_t)(run->start_realtime_ns / 1000000000);
  struct tm parts;
  char text[64] = "";
  if (gmtime_r(&seconds, &parts)) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  named(page, "Started", text);
}

static void energy(text_out *page, const pd_summary *summary) {
  energy_figure all[ENERGY_FIGURES];
  energy_figures(summary, all);
  for (int i = 0; i < ENERGY_FIGURES; i++) {
    char text[48];
    snprintf(text, sizeof text, "%.6g J", all[i].joules);
    if (!isnan(all[i].joules)) named(page, all[i].key, text);
  }
}

static void notes(text_out *page, const pd_summary *summary) {
  if (!summary->notes.count) return;
  page_markup(page, "<h3>Notes</h3><ul>\n");
  for (uint64_t i = 0; i < summary->notes.count; i++) {
    page_markup(page, "<li>");
    page_text(page, *PD_AT(pd_note, &summary->notes, i));
    page_markup(page, "</li>\n");
  }
  page_markup(page, "</ul>\n");
}

void pane_run(text_out *page, const pd_run *run, const pd_summary *summary) {
  if (summary->reason) {
    page_markup(page, "<p class=\"note\">This run was cut short: ");
    page_text(page, summary->reason);
    page_markup(page, "</p>\n");
  }
  notes(page, summary);
  page_markup(page, "<table><caption>Machine and program</caption><tbody>\n");
  named(page, "Command", run->command_line);
  named(page, "Scenario", run->scenario);
  named(page, "Device", run->device ? run->device->name : run->device_name);
  named(page, "Libraries", run->device ? run->device->versions : NULL);
  named(page, "No GPU", run->fallback);
  named(page, "Host", run->host_name);
  started(page, run);
  energy(page, summary);
  named(page, "pdhost", run->pdhost_version);
  named(page, "Sources", run->source_id);
  page_markup(page,
              "</tbody></table>\n<details><summary>Configuration</summary><div class=\"scroll\" tabindex=\"0\" "
              "role=\"group\" aria-label=\"Configuration\"><table>"
              "<caption>Every key, its value, and where that came from</caption><thead><tr><th scope=\"col\">Key</th>"
              "<th scope=\"col\">Value</th><th scope=\"col\">From</th></tr></thead><tbody>\n");
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    page_markup(page, "<tr><th scope=\"row\">");
    page_text(page, setting->section);
    page_markup(page, ".");
    page_text(page, setting->key);
    page_markup(page, "</th><td>");
    page_text(page, setting->value);
    page_markup(page, "</td><td>");
    page_text(page, setting->origin);
    page_markup(page, "</td></tr>\n");
  }
  page_markup(page, "</tbody></table></div></details>\n");
}

void pane_glossary(text_out *page, const pd_analysis *analysis) {
  uint64_t count = 0;
  const pd_metric *const *all = analysis->metrics(analysis, &count);
  if (!all) return;
  page_markup(page,
              "<details id=\"glossary\"><summary>What each figure is</summary>\n<div class=\"scroll\" tabindex=\"0\" "
              "role=\"group\" aria-label=\"What each figure is\"><table class=\"sortable\"><caption>What each figure "
              "is</caption><thead><tr><th scope=\"col\">Heading</th><th scope=\"col\">Key</th>"
              "<th scope=\"col\">Definition</th><th scope=\"col\">Formula</th><th scope=\"col\">Known from</th></tr>"
              "</thead><tbody>\n");
  for (uint64_t i = 0; i < count; i++) {
    page_around(page, "<tr><th scope=\"row\">", all[i]->heading, "</th><td>");
    page_around(page, "", all[i]->key, "</td><td>");
    page_around(page, "", all[i]->definition, "</td><td>");
    page_around(page, "", all[i]->formula, "</td><td>");
    page_around(page, "", all[i]->source, "</td></tr>\n");
  }
  page_markup(page, "</tbody></table></div></details>\n");
}
