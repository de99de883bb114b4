/* The style and the script that every page carries: those of the html sink. */
#ifndef CORE_PAGE_HTML_PAGE_FILES_H
#define CORE_PAGE_HTML_PAGE_FILES_H

typedef struct html_page_file {
  const char *name, *text;
} html_page_file;
/* Ended by a NULL name; made by the build. */
extern const html_page_file html_page_files[];

#endif
